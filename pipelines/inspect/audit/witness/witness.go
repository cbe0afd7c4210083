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

const memory = 128 << 20

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

	check  string
	differ validate.Count
	only   [2]validate.Count // that only one side has
}

// String says how the rows were joined, and how often both records say each thing.
func (f *Facts) String() string {
	s := fmt.Sprintf("%s\n  against %s: %s joined by id, %d by content\n", f.In, f.Against, plural.Of(f.ByID, "row"), f.ByContent)
	for _, x := range f.Compared {
		s += fmt.Sprintf("  %-30s %10d compared, %d differ\n", x.What, x.Both, x.Differ)
	}
	return s
}

// columns are what is read of both datasets.
var columns = strings.Fields("trajectory_id example_id example metadata status reward rewards candidates calls.target calls.error " +
	"calls.prompt_tokens calls.completion_tokens messages.parent messages.role messages.content messages.content_parts " +
	"messages.tool_calls messages.sampled messages.call messages.branch messages.token_ids messages.logprobs")

// Run compares two datasets. The findings have the names of checks, and the dataset that they are about.
func Run(ctx context.Context, o Options) (*Facts, []validate.Finding, error) {
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
	c.facts.UnjoinedIn, c.facts.UnjoinedAgainst, c.facts.Compared = c.unjoined[0].N, c.unjoined[1].N, c.all
	return c.facts, c.findings(), nil
}

// joined reads what joins the rows of both datasets.
func joined(ctx context.Context, o Options) (*joiner, error) {
	j := &joiner{keys: spill.New("", cmp.Or(o.Memory, memory)), votes: map[[2]int64]int{}, level: make([]byte, o.In.Rows)}
	defer j.keys.Close()
	var two bool
	if j.fields[0], j.fields[1], two = strings.Cut(o.Join, "="); !two {
		j.fields[1] = j.fields[0]
	}
	for side, d := range [2]*dataset.Dataset{o.In, o.Against} {
		has := false
		for t, err := range rows(ctx, d, columns[:len(columns)-2]) {
			if err == nil {
				has = has || field(t, j.fields[side]) != ""
				err = j.add(side, t)
			}
			if err != nil {
				return nil, err
			}
		}
		if o.Join != "" && !has {
			return nil, fault.Errorf(fault.Usage, "--join takes trajectory_id, example_id, or a member such as metadata.session_id",
				"no row of %q has %s", d.URI(), j.fields[side])
		}
	}
	return j, j.join()
}

func rows(ctx context.Context, d *dataset.Dataset, columns []string) iter.Seq2[*formats.Trajectory, error] {
	r, err := dataset.NewReaderOf[formats.Trajectory](ctx, d, d.All(), columns)
	if err != nil {
		return func(yield func(*formats.Trajectory, error) bool) { yield(nil, err) }
	}
	return r.Each(64)
}

// pairs compares the rows that are joined, in the order of the first dataset. Those of the second are sorted on
// disk if they exceed memory.
func (c *comparison) pairs(ctx context.Context, o Options, j *joiner) error {
	against := spill.New("", cmp.Or(o.Memory, memory))
	defer against.Close()
	n := int64(0)
	for t, err := range rows(ctx, o.Against, columns) {
		if err != nil {
			return err
		}
		if at := j.with[1][n]; at >= 0 {
			err = against.Add(binary.BigEndian.AppendUint64(nil, uint64(at)), spill.Append(nil, &row{n, *t}))
		} else {
			c.alone(1, row{n, *t}, at)
		}
		if n++; err != nil {
			return err
		}
	}
	next, stop := iter.Pull2(against.Sorted())
	defer stop()
	n = 0
	for t, err := range rows(ctx, o.In, columns) {
		if err != nil {
			return err
		}
		if at := j.with[0][n]; at < 0 {
			c.alone(0, row{n, *t}, at)
		} else if r, err, _ := next(); err != nil {
			return err
		} else {
			c.rows[0] = row{n, *t}
			spill.Decode(r.Value, &c.rows[1])
			c.pair(j.level[n])
		}
		n++
	}
	return nil
}

// pair compares the rows that were joined. Some answers alone are too few: half of those of the shorter record.
func (c *comparison) pair(level byte) {
	m := match(itemsOf(&c.rows[0].Trajectory), itemsOf(&c.rows[1].Trajectory))
	switch {
	case level == byAnswers && 2*len(m.turns) < min(m.last[0], m.last[1]):
		c.alone(0, c.rows[0], nobody)
		c.alone(1, c.rows[1], nobody)
		return
	case level <= byName:
		c.facts.ByID++
	default:
		c.facts.ByContent++
	}
	c.attempt(m)
}

// alone counts a row that is joined with none.
func (c *comparison) alone(side int, r row, why int64) {
	sort := map[int64]string{nobody: "without a counterpart", several: "that may be several rows of the other record",
		twice: "with an id that several rows of a record have"}[why]
	c.unjoined[side].Add(&validate.Row{Number: r.Number, TrajectoryID: r.TrajectoryID}, sort, "%s", sort)
}

// findings returns what differs, and what only one record has. What the other one has nowhere is not compared.
func (c *comparison) findings() (out []validate.Finding) {
	uris := [2]string{c.facts.In, c.facts.Against}
	add := func(check string, side int, n *validate.Count, what string, args ...any) {
		for _, f := range n.Over(0, what, args...) {
			f.Check, f.URI = check, uris[side]
			out = append(out, f)
		}
	}
	for side := range uris {
		add("witness_unjoined", side, &c.unjoined[side], "rows are not compared")
	}
	for _, x := range c.all {
		x.Differ, x.OnlyIn, x.OnlyAgainst = x.differ.N, x.only[0].N, x.only[1].N
		x.differ.Of = x.Both
		add(x.check, 0, &x.differ, "%s: the records differ", x.What)
		for side := range uris {
			x.only[1-side].Of = x.Both + x.only[1-side].N
			check, what := x.check, "%s: only the other record has them"
			if x.silent(side) {
				check, what = "witness_silent", "%s: this record has none, and those of the other one are not compared"
			}
			add(check, side, &x.only[1-side], what, x.What)
		}
	}
	return out
}

// silent reports whether a record never says such a thing. A call is said or missing.
func (x *Compared) silent(side int) bool {
	always := x.What == calls || x.What == auxiliary || x.What == retries
	return !always && x.Both == 0 && x.only[side].N == 0
}
