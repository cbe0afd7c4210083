package curate

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/advantages"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// Run decides about the groups of o.In, writes one shard of the dataset o.Out, and seals the
// dataset when the shard is the last. A dataset without rows is a valid result. When a gate
// refuses the sealed dataset, the report is complete and the error is a *manifest.GateError.
func Run(ctx context.Context, o Options) (stages.Report, error) {
	started := o.Clock()
	if err := o.Validate(); err != nil {
		return stages.Report{}, err
	}
	if len(o.Rules.All()) == 0 {
		return stages.Report{}, fault.Errorf(fault.Failed, "", "curate: it was given no rules")
	}
	in, err := openInput(ctx, &o)
	if err != nil {
		return stages.Report{}, err
	}
	defer in.groups.close()
	of := o.Out.Shard.Of()
	shard, err := shards.Begin(ctx, o.Out.URI, in.spec(&o),
		shards.Options{Shard: of.Index, Of: of.Count, Overwrite: o.Out.Overwrite})
	if err != nil {
		return stages.Report{}, err
	}
	var outcome shards.Outcome
	if !shard.UpToDate() {
		if outcome, err = decide(ctx, &o, in, shard); err != nil {
			return stages.Report{}, errors.Join(err, shard.Discard())
		}
	}
	seconds := o.Clock().Sub(started).Seconds()
	outcome.Timings = map[string]float64{"curate_seconds": seconds}
	result, err := shard.Commit(ctx, outcome)
	var order []string // of the rules that ran
	for _, a := range o.running {
		order = append(order, a.Name)
	}
	r := report(result, outcome, order, seconds)
	if d := result.Sealed; d != nil && d.Rows == 0 && d.Counts[countDropped] > 0 {
		o.Logger().Warn("the rules kept nothing, so nothing can be trained: " + r.Message)
	}
	return r, err
}

// decide plans the whole epoch and writes a shard's slice of it.
func decide(ctx context.Context, o *Options, in *input, shard *shards.Shard) (shards.Outcome, error) {
	if err := o.prepare(in); err != nil {
		return shards.Outcome{}, err
	}
	if err := in.findTraining(ctx, o); err != nil {
		return shards.Outcome{}, err
	}
	p, err := newPlan(o, in)
	if err != nil {
		return shards.Outcome{}, err
	}
	w := &writer{
		plan: p, recompute: o.recompute, decode: o.decode, spill: o.Spill,
		rows:      shards.NewTable[formats.Trajectory](shard, "", -1),
		decisions: shards.NewTable[decision.Decision](shard, schema.TableDecisions, -1),
		side:      newSideTables(in, shard),
	}
	defer w.side.close()
	if w.planTable, err = o.newPlanTable(ctx, in, p, shard); err != nil {
		return shards.Outcome{}, err
	}
	defer w.planTable.close()
	if err := o.writeExamples(ctx, in, p, shard, w.planTable); err != nil {
		return shards.Outcome{}, err
	}
	total := int64(0)
	for _, s := range in.sets {
		rows, err := w.writeSet(ctx, o, in, s)
		if err != nil {
			return shards.Outcome{}, err
		}
		total += rows
	}
	if err := w.tally.check(total); err != nil {
		return shards.Outcome{}, err
	}
	for _, a := range o.running {
		if a.Absent == nil {
			continue
		}
		for _, note := range a.Absent() {
			o.Logger().Warn(note)
		}
	}
	outcome := w.tally.outcome()
	w.side.facts(outcome.Facts)
	outcome.State, err = json.Marshal(p.state)
	return outcome, err
}

// writeSet writes a shard's slice of one set, and returns how many rows it decided about.
func (w *writer) writeSet(ctx context.Context, o *Options, in *input, s *set) (int64, error) {
	of := o.Out.Shard.Of()
	slice, err := s.base.Slice(ctx, of.Index, of.Count)
	if err != nil {
		return 0, err
	}
	if w.step, w.set = s.batchStep, s; w.step == nil { // it was not needed before
		if w.step, err = advantages.Remaining(ctx, s.members); err != nil {
			return 0, err
		}
	}
	if w.own, err = in.groups.owned(s, slice); err != nil {
		return 0, err
	}
	end := s.base.Rows
	if !s.scattered { // an edge of the slice may be inside a group
		slice = dataset.Range{First: w.own.first, Rows: w.own.rows}
		end = slice.First + slice.Rows
	}
	if w.members, err = dataset.NewReader[formats.Member](ctx, s.members, "", slice); err != nil {
		return 0, err
	}
	defer w.members.Close()
	w.whole = &baseRows{ctx: ctx, base: s.base, end: end}
	defer w.whole.close()
	w.heads = &baseRows{ctx: ctx, base: s.base, end: end, head: true}
	defer w.heads.close()
	w.payload = shards.NewPayload(ctx, s.base)
	defer w.payload.Close() // it was only read
	if err := w.side.begin(ctx, s, in.groups, slice); err != nil {
		return 0, err
	}
	w.meter = o.Meter(stage, "trajectories", w.own.rows)
	defer w.meter.Done()
	if err := w.run(ctx); err != nil {
		return 0, err
	}
	if err := w.side.end(); err != nil {
		return 0, err
	}
	if s == in.sets[len(in.sets)-1] {
		return w.own.rows, w.rows.EndPart(ctx) // so that it holds no file of this set
	}
	return w.own.rows, w.rows.EndRowGroup()
}

// writeExamples writes the table _examples, and a drawn plan: the first shard all of it.
func (o *Options) writeExamples(ctx context.Context, in *input, p *plan, shard *shards.Shard, to *planTableWriter) error {
	out := shards.NewTable[decision.ExampleStats](shard, schema.TableExamples, -1)
	if o.Out.Shard.Of().Index > 0 {
		return nil
	}
	e := &exampleCounts{sorter: in.groups.sorter()}
	defer e.sorter.Close()
	if err := e.addPrevious(ctx, in); err != nil {
		return err
	}
	if err := e.addAttempts(ctx, in); err != nil {
		return err
	}
	rows := make([]decision.ExampleStats, 0, 1000)
	for c, err := range e.each() {
		if err == nil && len(rows) == cap(rows) {
			err = out.Write(ctx, rows)
			rows = rows[:0]
		}
		if err != nil {
			return err
		}
		row := c.ExampleStats
		if row.Mean, row.StdPop = nil, nil; c.Scored > 0 {
			row.Mean, row.StdPop = new(c.Mean), new(math.Sqrt(c.Squares/float64(c.Scored)))
		}
		if c.Attempts > 0 {
			rows = append(rows, row)
		}
	}
	if err := out.Write(ctx, rows); err != nil || !o.PlanTable.Drawn() {
		return err
	}
	return o.drawPlan(ctx, in, p, e, to)
}
