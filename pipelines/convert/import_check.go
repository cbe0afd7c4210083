package convert

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// check reads the source, and collects what the report says about it.
type check struct {
	o      *ImportOptions
	checks bool // refuse nothing, and list it
	source *validate.SourceCheck

	meter    *stages.Meter
	records  int64
	added    int64 // rows
	refused  int64 // records
	broken   int64 // files
	refusals []Refusal
	unseen   map[string]string // columns of --map that no record had so far, by field
	losses   map[string]int64
	redacted redaction.Counts
	account  importers.Account
	withheld int64            // members
	leftOut  map[string]int64 // members about end users, by name
	unkept   []string         // names of --keep-metadata that no record had so far
	nulls    int64            // that were left out

	joiner *calls.Joiner // nil if no calls are merged
	merged *Merged       // as of the end of reading
	night  *night        // nil unless only what is new is imported

	lastGroup string
	last      struct { // what it is the id of
		example string
		epoch   int32
	}
}

// newCheck returns a check. It must be closed.
func newCheck(o *ImportOptions) *check {
	c := &check{o: o, losses: map[string]int64{}, leftOut: map[string]int64{}, unkept: slices.Clone(o.Keep)}
	c.source = validate.NewSourceCheck(o.Spill.Dir, min(sorterMemory, o.Spill.Memory))
	if o.Merge == MergeCalls {
		c.joiner = calls.NewJoiner(calls.Options{ByTime: o.MergeByTime, Train: o.Auxiliary == tree.AuxiliaryTrain,
			Dir: o.Spill.Dir, Memory: o.Spill.Memory})
	}
	if o.Format.Columns {
		c.unseen = maps.Clone(o.Fields)
		maps.DeleteFunc(c.unseen, func(name, _ string) bool {
			word := func(f importers.Field) bool { return f.Name == name && f.Word }
			return importers.IsRole(name) || slices.ContainsFunc(o.Format.Fields, word)
		})
	}
	return c
}

func (c *check) close() {
	_ = c.source.Close() // its content is no longer needed
	if c.joiner != nil {
		_ = c.joiner.Close()
	}
}

// sorterMemory is the memory for a sorter of the checks: they have at most three.
const sorterMemory = 16 << 20

// maxRefusals is how many records the report lists.
const maxRefusals = 100

// read passes every row of the shard to add, in the order of the source.
func (c *check) read(ctx context.Context, add func(context.Context, *row) error) error {
	c.meter = c.o.Meter(stage, "record", 0)
	defer c.meter.Done()
	err := c.o.each(ctx, func(file int, p *parsed) error { return c.record(ctx, file, p, add) },
		func(file int, err error) error {
			if !c.checks {
				return err
			}
			c.broken++
			c.refuse(file, "file", err)
			return nil
		}, &c.account)
	if err == nil && c.joiner != nil {
		err = c.merge(ctx, add)
	}
	if err != nil || c.night != nil && (c.records == 0 || c.night.w.Night > 0) { // of a night, few records may be new
		return err
	}
	if c.records == 0 && !c.checks {
		return fault.Invalid(c.o.Source.URI, "is it the right file?", nil, "there is no record in it")
	}
	for _, name := range slices.Sorted(maps.Keys(c.unseen)) {
		column := c.unseen[name]
		return fault.Invalid(c.o.Source.URI, "name a column of the records; the others need no --map", nil,
			"no record has the column %q of --map %s=%s", column, name, column)
	}
	if c.o.Lossy && !c.checks && c.refused == c.records {
		return fault.Invalid(c.o.Source.URI, "import --check lists the reasons; is it the right format?", nil,
			"no record gives a trajectory; all %d are refused", c.records)
	}
	return nil
}

// see notes the columns of a record that --map names.
func (c *check) see(data []byte) {
	if len(c.unseen) == 0 {
		return
	}
	for key := range jsontext.Members(data) {
		maps.DeleteFunc(c.unseen, func(_, column string) bool { return column == string(key) })
	}
}

func (c *check) record(ctx context.Context, file int, p *parsed, add func(context.Context, *row) error) error {
	c.records++
	c.meter.Add(1)
	c.see(p.Data)
	c.unkept = slices.DeleteFunc(c.unkept, func(name string) bool { return p.Kept[name] })
	if p.fresh {
		c.account.Try(&c.o.Format, &p.Record)
	}
	name := c.o.Files[file].URI
	if p.Err != nil {
		if !c.checks && !c.o.Lossy {
			return p.Refused(name, "import --check lists every such record, --lossy drops and counts them", p.Err)
		}
		c.refused++
		c.refuse(file, p.At(), p.Err)
		return nil
	}
	for _, l := range p.Losses {
		if !c.checks && !c.o.Lossy {
			return p.Refused(name, "import --check lists what no row can hold, --lossy drops and counts it",
				fmt.Errorf("it cannot be represented: %s", l))
		}
		if len(p.rows) == 0 || c.o.inShard(&p.rows[0]) {
			tally(c.losses, l.String(), 1)
		}
	}
	if len(p.rows) > 0 && c.o.inShard(&p.rows[0]) {
		c.withheld += int64(p.Withheld)
		c.nulls += p.Dropped
		for name, n := range p.LeftOut {
			tally(c.leftOut, name, n)
		}
	}
	for i := range p.rows {
		r := &p.rows[i]
		if r.call != nil {
			join := c.joiner.Add
			if c.night != nil { // only what is new
				join = c.night.add
			}
			if err := join(r.call); err != nil {
				return err
			}
		}
		if !c.o.inShard(r) {
			continue
		}
		c.redacted.Add(r.redacted)
		if r.call != nil {
			continue
		}
		if err := c.row(ctx, r, p.source(name, r), add); err != nil {
			return err
		}
	}
	return nil
}

// row passes a row on.
func (c *check) row(ctx context.Context, r *row, at validate.Source, add func(context.Context, *row) error) error {
	if err := c.source.Add(c.group(&r.Row), at, &r.Row); err != nil {
		return err
	}
	c.added++
	return add(ctx, r)
}

// maxNames is how many names of the source the report lists, of each kind.
const maxNames = 1000

func tally(counts map[string]int64, name string, n int64) {
	if _, listed := counts[name]; !listed && len(counts) >= maxNames {
		name = "other parts"
	}
	counts[name] += n
}

// group returns the group of a row, which is often that of the row before.
func (c *check) group(t *formats.Trajectory) string {
	if c.lastGroup == "" || c.last.example != t.ExampleID || c.last.epoch != t.Epoch {
		c.last.example, c.last.epoch = t.ExampleID, t.Epoch
		c.lastGroup = formats.GroupID(t.ExampleID, int(t.Epoch))
	}
	return c.lastGroup
}

// preferred returns what the source says of an answer, nil for nothing.
func preferred(r *row) *bool {
	yes := r.Pair == importers.Chosen
	if r.Pair == importers.Unpaired {
		return r.Label
	}
	return &yes
}

// refuse lists a record or a file that was refused.
func (c *check) refuse(file int, place string, err error) {
	if len(c.refusals) >= maxRefusals {
		return
	}
	x := Refusal{File: c.o.Files[file].URI, Place: place, Reason: err.Error()}
	if in := (*fault.Error)(nil); errors.As(err, &in) {
		x.Hint = in.Help
		if in.Place == x.File {
			at := fmt.Sprintf("%q", in.Place)
			if in.Row >= 0 {
				at += fmt.Sprintf(" row %d", in.Row)
			}
			x.Reason = strings.TrimPrefix(x.Reason, at+": ")
		}
	}
	c.refusals = append(c.refusals, x)
}

// count adds the facts of the source. What all shards count, the first one records.
func (c *check) count(facts map[string]float64) {
	if c.o.Out.Shard.Of().Index == 0 {
		facts[factRecords], facts[factRefused] = float64(c.records), float64(c.refused)
		c.merged.facts(facts)
	}
	facts[factLosses], facts[factRedactions] = float64(sum(c.losses)), float64(c.redacted.Total())
}

func sum(counts map[string]int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// report describes what was read, which is the end of reading.
func (c *check) report() (Source, error) {
	found, err := c.source.Report()
	return Source{Checks: found, Refused: c.refusals, Records: c.records, RefusedRecords: c.refused, BrokenFiles: c.broken,
		Losses: c.losses, Redacted: c.redacted, Nulls: c.nulls,
		Withheld: c.withheld, LeftOut: c.leftOut, Unkept: c.unkept,
		Merged: c.merged, Members: c.account.Members(c.o.ShowValues)}, err
}
