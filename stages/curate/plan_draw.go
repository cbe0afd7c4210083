package curate

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/spill"
)

// Examples are the rows of a task file, from which a plan is drawn; package
// formats/examples reads such files. No id is empty or occurs twice.
type Examples interface {
	Len() int
	At(i int) (formats.Example, error)
}

// candidate is what is known of an example that may be drawn. Parts of it come
// from different places and are merged.
type candidate struct {
	ID     string
	Key    int    // index in the mix, from 1; 0: it is not to be drawn
	Counts counts // of the newest version with scored attempts; Next is of all
	Group  Group  // in this epoch; Count is 0 if there is none
}

func (c *candidate) merge(x *candidate) {
	c.Key, c.Counts.Next = max(c.Key, x.Key), max(c.Counts.Next, x.Counts.Next)
	if x.Counts.Scored > 0 && (x.Counts.Version != nil || c.Counts.Scored == 0) {
		c.Counts.Scored, c.Counts.Passes = x.Counts.Scored, x.Counts.Passes
	}
	if x.Group.Count > 0 {
		c.Group = x.Group
	}
}

// draw is a plan that is drawn from all examples of a task file, in these steps:
// what is known of each (known), their order within each key (lots), and those
// within the quotas, by id (chosen).
type draw struct {
	o                   *Options
	in                  *input
	p                   *plan
	mix                 Mix
	known, lots, chosen *spill.Sorter
	has                 []int // candidates of each key
	seq                 uint64
}

// drawPlan writes the table _plan of --plan-mix and --plan-pass-rate: see PlanTable.
func (o *Options) drawPlan(ctx context.Context, in *input, p *plan, e *exampleCounts, to *planTableWriter) error {
	sorter := func() *spill.Sorter { return spill.New(in.groups.spill.Dir, in.groups.spill.Memory) }
	d := &draw{o: o, in: in, p: p, mix: o.PlanTable.Mix, known: sorter(), lots: sorter(), chosen: sorter()}
	defer d.known.Close()
	defer d.lots.Close()
	defer d.chosen.Close()
	if len(d.mix) == 0 {
		d.mix = Mix{{"examples", 1}}
	}
	d.has = make([]int, len(d.mix))
	size, err := o.size(in)
	if err == nil && size == 0 {
		err = Usage("give --plan-generations", "curate: the plan has no target size, as there are no groups")
	}
	for _, step := range []func() error{
		func() error { return d.addKnown(e) },
		d.addExamples,
		d.castLots,
		func() error { return d.choose(int(*o.PlanTable.Budget / int64(size))) },
		func() error { return d.write(ctx, to, size) },
	} {
		if err == nil {
			err = step()
		}
	}
	return err
}

// add adds a part of a candidate. Parts are merged in the order of the calls.
func (d *draw) add(c *candidate) error {
	d.seq++
	return d.known.Add(appendRank(nil, Rank{Text: c.ID, Lot: int64(d.seq)}), spill.Append(nil, c))
}

// addKnown adds what is known of attempts, in the order of versions, and groups.
func (d *draw) addKnown(e *exampleCounts) error {
	for c, err := range e.each() {
		if err == nil {
			err = d.add(&candidate{ID: c.ID, Counts: *c})
		}
		if err != nil {
			return err
		}
	}
	for g, err := range d.in.groups.every(0, d.in.sets[0].end) {
		if err == nil && g.ID == formats.GroupID(g.ExampleID, d.in.epoch) {
			err = d.add(&candidate{ID: g.ExampleID, Group: *g})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addExamples adds the examples of the task file that may be drawn.
func (d *draw) addExamples() error {
	field, found, columns := cmp.Or(d.o.PlanTable.MixField, "source"), false, []string(nil)
	for i := range d.o.Examples.Len() {
		e, err := d.o.Examples.At(i)
		if err != nil {
			return err
		}
		key := 1
		if len(d.o.PlanTable.Mix) > 0 {
			value := fieldOf(e.Fields, field)
			found, key = found || value != nil, d.mix.key(value)+1
			if i == 0 {
				for name := range jsontext.Members(e.Fields) {
					columns = append(columns, string(name))
				}
			}
		}
		if key == 0 || d.heldOut(&e) {
			continue
		}
		if err := d.add(&candidate{ID: e.ID, Key: key}); err != nil {
			return err
		}
	}
	if len(d.o.PlanTable.Mix) > 0 && !found {
		return Usage("the first example has "+strings.Join(columns, ", ")+"; write a dot before the name of a nested field",
			"curate: --plan-mix-field %q: no example of --plan-examples has it", field)
	}
	return nil
}

// heldOut reports whether an example is never trained on: it is held out, or on
// the other side of a split.
func (d *draw) heldOut(e *formats.Example) bool {
	if _, held := d.in.holdout.Holds(e.ID, string(e.Fields)); held {
		return true
	}
	g := Group{ID: formats.GroupID(e.ID, d.in.epoch), ExampleID: e.ID, Epoch: d.in.epoch}
	for _, a := range d.p.active {
		if rule, is := a.rule.(GroupRule); is && a.OfExamples && rule.Group(d.p.of(a), &g).Reason != "" {
			return true
		}
	}
	return false
}

// castLots orders the candidates of each key.
func (d *draw) castLots() error {
	var c, x candidate
	for r, err := range d.known.Sorted() {
		if err != nil {
			return err
		}
		if spill.Decode(r.Value, &x); x.ID != c.ID {
			if err := d.castLot(&c); err != nil {
				return err
			}
			c = candidate{ID: x.ID}
		}
		c.merge(&x)
	}
	return d.castLot(&c)
}

// castLot gives a candidate its place, by the method of Efraimidis and Spirakis: the
// smallest of -ln(u)/weight come first, here compared by their logarithms. The draw
// of each epoch is another.
func (d *draw) castLot(c *candidate) error {
	if c.Key == 0 {
		return nil
	}
	weight := 0.0 // the greatest, so that new examples are tried
	if n := c.Counts.Scored; n > 0 {
		weight = d.o.PlanTable.PassRate.weight(float64(c.Counts.Passes) / float64(n))
	}
	lot := formats.Seed(d.o.Seed, "draw", formats.GroupID(c.ID, d.in.epoch))
	u := (float64(lot) + 0.5) / (1 << 63)
	d.has[c.Key-1]++
	key := binary.BigEndian.AppendUint32(nil, uint32(c.Key))
	key = appendRank(key, Rank{Value: math.Log(-math.Log(u)) - weight, Lot: lot})
	return d.lots.Add(append(key, c.ID...), spill.Append(nil, c))
}

// choose chooses n of the candidates.
func (d *draw) choose(n int) error {
	all := make([]bool, len(d.mix))
	for k := range all {
		all[k] = true
	}
	left := d.mix.quotas(n, d.has)
	for k, quota := range d.mix.divide(n, all) {
		if left[k] < quota {
			d.o.Logger().Warn(fmt.Sprintf("--plan-examples has only %d of the %d examples of %q to draw; the others get the rest", left[k], quota,
				d.mix[k].Key))
		}
	}
	var c candidate
	for r, err := range d.lots.Sorted() {
		if err == nil {
			if spill.Decode(r.Value, &c); left[c.Key-1] == 0 {
				continue
			}
			left[c.Key-1]--
			err = d.chosen.Add([]byte(c.ID), r.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes the rows of the plan, by example.
func (d *draw) write(ctx context.Context, to *planTableWriter, size int) error {
	var c candidate
	for r, err := range d.chosen.Sorted() {
		if err != nil {
			return err
		}
		spill.Decode(r.Value, &c)
		g := &c.Group
		row := formats.Planned{ExampleID: c.ID, GroupID: formats.GroupID(c.ID, d.in.epoch), Epoch: int32(d.in.epoch),
			Generations: int32(size), First: c.Counts.Next, Reason: formats.PlanReasons[requestDrawn],
			Count: int32(g.Count), Valid: int32(g.Valid), Failed: int32(g.Failed)}
		if g.Valid > 0 {
			row.Solved, row.StdPop = new(g.Solved), new(g.StdPop)
		}
		if err := to.append(ctx, row); err != nil {
			return err
		}
	}
	return to.flush(ctx)
}
