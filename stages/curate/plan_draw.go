package curate

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/spill"
)

// candidate is an example that may be drawn. What is known of it comes from several
// places, and is merged.
type candidate struct {
	Key    int    // index in the mix, from 1; 0: it may not be drawn
	Counts counts // of the newest version with scored attempts; Next is of all
	Group  Group  // in this epoch; without members if it was not attempted
}

func (c *candidate) merge(x *candidate) {
	c.Key, c.Counts.Next = max(c.Key, x.Key), max(c.Counts.Next, x.Counts.Next)
	if x.Counts.Scored > 0 && (x.Counts.PolicyVersion != nil || c.Counts.Scored == 0) {
		c.Counts.Scored, c.Counts.Passes = x.Counts.Scored, x.Counts.Passes
	}
	if x.Group.Count > 0 || c.Group.ID == "" {
		c.Group = x.Group
	}
}

// draw draws a plan from a task file. It sorts what is known of the examples by id, then the
// candidates of each key of the mix by lot, then those that are drawn by id.
type draw struct {
	o                  *Options
	in                 *input
	p                  *plan
	mix                Mix
	known, lots, drawn *spill.Sorter
	seq                int64
	has                []int // candidates of each key
}

// drawPlan writes the table _plan of --plan-mix and --plan-pass-rate: see PlanTable.
func (o *Options) drawPlan(ctx context.Context, in *input, p *plan, e *exampleCounts, to *planTableWriter) error {
	d := &draw{o: o, in: in, p: p, mix: o.PlanTable.Mix, known: in.groups.sorter(), lots: in.groups.sorter(), drawn: in.groups.sorter()}
	defer d.known.Close()
	defer d.lots.Close()
	defer d.drawn.Close()
	if d.mix == nil {
		d.mix = Mix{{"examples", 1}}
	}
	d.has = make([]int, len(d.mix))
	size, err := o.size(in)
	for _, step := range []func() error{func() error { return d.addKnown(e) }, d.addExamples, d.castLots} {
		if err == nil {
			err = step()
		}
	}
	if err == nil {
		err = d.choose(int(*o.PlanTable.Budget / int64(max(1, size))))
	}
	if err != nil {
		return err
	}
	var c candidate
	for r, err := range d.drawn.Sorted() {
		if err != nil {
			return err
		}
		spill.Decode(r.Value, &c)
		row := plannedOf(&c.Group, max(1, size), requestDrawn)
		row.First = c.Counts.Next
		if err := to.append(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// add adds what is known of an example; the order of the calls is that of merging.
func (d *draw) add(id string, c candidate) error {
	if c.Group.ID == "" {
		c.Group = Group{ID: formats.GroupID(id, d.in.epoch), ExampleID: id, Epoch: d.in.epoch}
	}
	d.seq++
	return d.known.Add(appendRank(nil, Rank{Text: id, Lot: d.seq}), spill.Append(nil, &c))
}

func (d *draw) addKnown(e *exampleCounts) error {
	for c, err := range e.each() { // in the order of versions
		if err == nil {
			err = d.add(c.ExampleID, candidate{Counts: *c})
		}
		if err != nil {
			return err
		}
	}
	for g, err := range d.in.groups.every(0, d.in.sets[0].end) {
		if err == nil && g.ID == formats.GroupID(g.ExampleID, d.in.epoch) {
			err = d.add(g.ExampleID, candidate{Group: *g})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addExamples adds the examples of the task file, those that may be drawn with their key.
func (d *draw) addExamples() error {
	field, found := cmp.Or(d.o.PlanTable.MixField, "source"), d.o.PlanTable.Mix == nil
	for i := range d.o.Examples.Len() {
		e, err := d.o.Examples.At(i)
		if err != nil {
			return err
		}
		key := 1
		if d.o.PlanTable.Mix != nil {
			value := fieldOf(e.Fields, field)
			found, key = found || value != nil, 1+slices.IndexFunc(d.mix,
				func(s MixShare) bool { return s.Key == jsontext.AnyText(value) })
		}
		if key > 0 && !d.heldOut(&e) {
			err = d.add(e.ID, candidate{Key: key})
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return Usage("name a field of the rows of the task file; dots are between nested names",
			"curate: --plan-mix-field %q: no example of --plan-examples has it", field)
	}
	return nil
}

// heldOut reports whether an example is held out, or on the other side of a split.
func (d *draw) heldOut(e *formats.Example) bool {
	held := d.in.holdout.Holds(&formats.Trajectory{ExampleID: e.ID, Example: string(e.Fields)}) != nil
	g := Group{ID: formats.GroupID(e.ID, d.in.epoch), ExampleID: e.ID, Epoch: d.in.epoch}
	for _, a := range d.p.active {
		held = held || a.OfExamples && a.Group != nil && a.Group(d.p.of(a), &g).Reason != ""
	}
	return held
}

func (d *draw) castLots() error {
	var c, x candidate
	for r, err := range d.known.Sorted() {
		if err != nil {
			return err
		}
		if spill.Decode(r.Value, &x); x.Group.ExampleID != c.Group.ExampleID {
			if err := d.castLot(&c); err != nil {
				return err
			}
			c = candidate{}
		}
		c.merge(&x)
	}
	return d.castLot(&c)
}

// castLot gives a candidate its place by the method of Efraimidis and Spirakis: the smallest
// -ln(u)/weight come first, compared by their logarithms. An example without scored attempts
// has the greatest weight, so that new ones are tried. Each epoch draws again.
func (d *draw) castLot(c *candidate) error {
	if c.Key == 0 {
		return nil
	}
	lot, weight := formats.Seed(d.o.Seed, "draw", c.Group.ID), 0.0
	if n := c.Counts.Scored; n > 0 {
		weight = d.o.PlanTable.PassRate.weight(float64(c.Counts.Passes) / float64(n))
	}
	u := (float64(lot) + 0.5) / (1 << 63)
	d.has[c.Key-1]++
	key := binary.BigEndian.AppendUint32(nil, uint32(c.Key))
	key = appendRank(key, Rank{Value: math.Log(-math.Log(u)) - weight, Lot: lot})
	return d.lots.Add(append(key, c.Group.ID...), spill.Append(nil, c))
}

// choose chooses n of the candidates.
func (d *draw) choose(n int) error {
	left := d.mix.quotas(n, d.has)
	for k, quota := range d.mix.divide(n, func(int) bool { return true }) {
		if d.has[k] < quota {
			d.o.Logger().Warn(fmt.Sprintf("--plan-examples has only %d of the %d examples of %q to draw; the others get the rest", d.has[k], quota,
				d.mix[k].Key))
		}
	}
	var c candidate
	for r, err := range d.lots.Sorted() {
		if err != nil {
			return err
		}
		if spill.Decode(r.Value, &c); left[c.Key-1] == 0 {
			continue
		}
		left[c.Key-1]--
		if err := d.drawn.Add([]byte(c.Group.ExampleID), r.Value); err != nil {
			return err
		}
	}
	return nil
}
