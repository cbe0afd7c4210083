// Package witness compares two datasets over the same attempts: ours, and another program's record of them,
// imported. It joins their rows by ids, else by what they say, and compares them turn by turn.
//
// It guesses nothing: a row that cannot be joined, or with several, is named, and what one of both datasets
// never says is named as not compared. It does not say which of both is right.
//
// What counts as the same is decided by formats/tree, as in the recorder. To compare something else of a
// message, add it to facets, and a check to the list of formats/validate.
package witness

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// Options name two wide datasets.
type Options struct {
	In, Against *dataset.Dataset
	Join        string // FIELD, or FIELD=FIELD, whose values join rows; "" for ids, then what rows say
	Memory      int64  // bytes, beyond which temporary files are used; 0 for the default
}

// Facts are what was compared.
type Facts struct {
	In              string      `json:"in"`
	Against         string      `json:"against"`
	ByID            int64       `json:"joined_by_id"`
	ByContent       int64       `json:"joined_by_content"` // by answers, or the only ones with their prompt
	UnjoinedIn      int64       `json:"unjoined_in"`
	UnjoinedAgainst int64       `json:"unjoined_against"`
	Compared        []*Compared `json:"compared"`
}

// Compared counts one thing that both records may say, such as the token ids of answers.
type Compared struct {
	What        string `json:"what"`
	Both        int64  `json:"both"`   // how often both say it
	Differ      int64  `json:"differ"` // how often not the same
	OnlyIn      int64  `json:"only_in"`
	OnlyAgainst int64  `json:"only_against"`

	differ validate.Count
	only   [2]validate.Count // that only one side has
}

// String says how the rows were joined, and how often both records say each thing.
func (f *Facts) String() string {
	rows := plural.Of(f.ByID, "row")
	s := fmt.Sprintf("%s\n  against %s: %s joined by id, %d by content\n", f.In, f.Against, rows, f.ByContent)
	for _, x := range f.Compared {
		s += fmt.Sprintf("  %-30s %10d compared, %d differ\n", x.What, x.Both, x.Differ)
	}
	return s
}

// row is a row of one of the datasets.
type row struct {
	Number int64
	formats.Trajectory
}

// columns are what is read of both datasets; what joins rows does not need the last two.
var columns = strings.Fields("trajectory_id example_id example metadata status reward rewards candidates calls.target calls.error " +
	"calls.prompt_tokens calls.completion_tokens messages.parent messages.role messages.content messages.content_parts " +
	"messages.tool_calls messages.sampled messages.call messages.branch messages.token_ids messages.logprobs")

// each calls f with every row, which is valid until it returns.
func each(ctx context.Context, d *dataset.Dataset, columns []string, f func(*row) error) error {
	r, err := dataset.NewReaderOf[formats.Trajectory](ctx, d, d.All(), columns)
	if err != nil {
		return err
	}
	n := int64(0)
	for t, err := range r.Each(64) {
		if err == nil {
			err = f(&row{n, *t})
		}
		if err != nil {
			return err
		}
		n++
	}
	return nil
}

// Run compares two datasets. The findings have the names of checks, and the dataset that they are about.
func Run(ctx context.Context, o Options) (*Facts, []validate.Finding, error) {
	o.Memory = cmp.Or(o.Memory, 128<<20)
	j, err := joined(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	c := &comparison{by: map[string]*Compared{}, facts: &Facts{In: o.In.URI(), Against: o.Against.URI()}}
	if err := c.pairs(ctx, o, j); err != nil {
		return nil, nil, err
	}
	if c.facts.ByID+c.facts.ByContent == 0 {
		return nil, nil, fault.Invalid(o.Against.URI(), "--join names a field that both have, such as trajectory_id=metadata.source_id", nil,
			"none of its %d rows is joined with one of %q", o.Against.Rows, o.In.URI())
	}
	c.unjoined[0].Of, c.unjoined[1].Of = o.In.Rows, o.Against.Rows
	c.facts.UnjoinedIn, c.facts.UnjoinedAgainst = c.unjoined[0].N, c.unjoined[1].N
	return c.facts, c.findings(), nil
}

// pairs compares the rows that are joined, in the order of the first dataset. Those of the second are sorted on
// disk if they exceed memory.
func (c *comparison) pairs(ctx context.Context, o Options, j *joiner) error {
	against := spill.New("", o.Memory)
	defer against.Close()
	err := each(ctx, o.Against, columns, func(r *row) error {
		at := j.with[1][r.Number]
		if at < 0 {
			c.alone(1, r, at)
			return nil
		}
		return against.Add(binary.BigEndian.AppendUint64(nil, uint64(at)), spill.Append(nil, r))
	})
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(against.Sorted())
	defer stop()
	return each(ctx, o.In, columns, func(r *row) error {
		if at := j.with[0][r.Number]; at < 0 {
			c.alone(0, r, at)
			return nil
		}
		other, err, _ := next()
		if err != nil {
			return err
		}
		c.rows[0] = *r
		spill.Decode(other.Value, &c.rows[1])
		c.pair(j.level[r.Number])
		return nil
	})
}

// pair compares the rows that were joined. Some answers alone are too few: half of those of the shorter record.
func (c *comparison) pair(level byte) {
	m := match(itemsOf(&c.rows[0].Trajectory), itemsOf(&c.rows[1].Trajectory))
	switch {
	case level == byAnswers && 2*len(m.turns) < min(len(m.main[0]), len(m.main[1])):
		c.alone(0, &c.rows[0], nobody)
		c.alone(1, &c.rows[1], nobody)
		return
	case level < byWhole:
		c.facts.ByID++
	default:
		c.facts.ByContent++
	}
	c.attempt(m)
}

// alone counts a row that is joined with none.
func (c *comparison) alone(side int, r *row, why int64) {
	sort := "without a counterpart"
	if why == several {
		sort = "ambiguous"
	}
	c.unjoined[side].Add(&validate.Row{Number: r.Number, TrajectoryID: r.TrajectoryID}, sort, "%s", sort)
}

// checks are those of what has not their name, by its first word.
var checks = map[string]string{"the": "shift", "tool": "tools", "prompt": "tokens", "completion": "tokens", "token": "ids",
	"system": "prompts", "reward": "rewards", "failed": "retries"}

// findings returns what differs, and what only one record has. What the other one has nowhere is not compared.
func (c *comparison) findings() (out []validate.Finding) {
	uris := [2]string{c.facts.In, c.facts.Against}
	add := func(check string, side int, n *validate.Count, what string, args ...any) {
		for _, f := range n.Over(0, what, args...) {
			f.Check, f.URI = "witness_"+check, uris[side]
			out = append(out, f)
		}
	}
	for side := range uris {
		add("unjoined", side, &c.unjoined[side], "rows are not compared")
	}
	for _, x := range c.facts.Compared {
		check, _, _ := strings.Cut(x.What, " ")
		check = cmp.Or(checks[check], check)
		x.Differ, x.OnlyIn, x.OnlyAgainst, x.differ.Of = x.differ.N, x.only[0].N, x.only[1].N, x.Both
		add(check, 0, &x.differ, "%s: the records differ", x.What)
		for side := range uris {
			only := &x.only[1-side]
			only.Of = x.Both + only.N
			if always := x.What == calls || x.What == auxiliary || x.What == retries; !always && x.Both == 0 && x.only[side].N == 0 {
				add("silent", side, only, "%s: this record has none, and those of the other one are not compared", x.What)
			} else {
				add(check, side, only, "%s: only the other record has them", x.What)
			}
		}
	}
	return out
}
