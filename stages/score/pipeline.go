package score

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
)

// pipeline moves batches of whole groups from the source through the rewards to
// the table. Batches are scored concurrently and written in order.
type pipeline struct {
	earlier *earlier // nil without --only
	source  *source
	kept    []Spec          // rewards carried forward
	stepped []string        // those among them that may have given shaped rewards
	shown   map[string]bool // whose shaped rewards other rewards read
	rewards built
	out     *dataset.TableWriter[formats.Score]
	workers int
	batch   int
	meter   *stages.Meter
	log     *slog.Logger
	tally   *tally
	spare   chan []formats.Score // the memory of batches that were written
	warned  map[string]bool      // failure classes already logged, by reward
}

// job is a batch in progress; done is closed when it is scored.
type job struct {
	rows   []*Row
	scores []formats.Score
	done   chan struct{}
}

func (p *pipeline) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	todo := make(chan *job)
	p.spare = make(chan []formats.Score, p.workers)
	ordered := make(chan *job, p.workers) // bounds what is in memory
	g.Go(func() error {
		defer close(todo)
		defer close(ordered)
		return p.read(ctx, todo, ordered)
	})
	for range p.workers {
		g.Go(func() error { return p.work(ctx, todo) })
	}
	g.Go(func() error { return p.write(ctx, ordered) })
	return g.Wait()
}

func (p *pipeline) read(ctx context.Context, todo, ordered chan<- *job) error {
	for {
		rows, err := p.source.batch(p.batch)
		if err != nil || len(rows) == 0 {
			return err
		}
		j := &job{rows: rows, done: make(chan struct{})}
		for _, next := range []chan<- *job{ordered, todo} {
			select {
			case next <- j:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func (p *pipeline) work(ctx context.Context, todo <-chan *job) error {
	for j := range todo {
		if err := p.score(ctx, j); err != nil {
			return err
		}
		close(j.done)
	}
	return ctx.Err()
}

func (p *pipeline) write(ctx context.Context, ordered <-chan *job) error {
	for j := range ordered {
		select {
		case <-j.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := p.writeJob(ctx, j); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (p *pipeline) writeJob(ctx context.Context, j *job) error {
	var ends []int // of groups
	for i := range j.scores {
		s := &j.scores[i]
		p.tally.add(s, j.rows[i])
		p.meter.Failed(s.Failure)
		p.warn(s)
		if i+1 == len(j.rows) || !sameGroup(j.rows[i], j.rows[i+1]) {
			ends = append(ends, i+1)
		}
	}
	p.meter.Add(int64(len(j.scores)))
	err := p.out.WriteGroups(ctx, j.scores, ends)
	clear(j.scores)
	select {
	case p.spare <- j.scores[:0]:
	default:
	}
	return err
}

// room returns scores for n rows, which are zero.
func (p *pipeline) room(n int) []formats.Score {
	select {
	case spare := <-p.spare:
		return slices.Grow(spare, n)[:n]
	default:
		return make([]formats.Score, n)
	}
}

// warn logs the first failure of each class of each reward.
func (p *pipeline) warn(s *formats.Score) {
	for i := range s.Rewards {
		r := &s.Rewards[i]
		if key := r.Name + " " + r.Failure; r.Failure != "" && r.Failure != formats.RewardTrajectory && !p.warned[key] {
			if p.warned == nil {
				p.warned = map[string]bool{}
			}
			p.warned[key] = true
			p.log.Warn("a trajectory has no reward", "reward", r.Name, "failure", r.Failure, "error", r.Error, "trajectory_id", s.TrajectoryID)
		}
	}
}

// score runs every reward over a batch in order: a later one may read an
// earlier one's values.
func (p *pipeline) score(ctx context.Context, j *job) error {
	var alive []*Row
	each := len(p.kept) + len(p.rewards)
	rewards := make([]formats.NamedReward, each*len(j.rows))
	for i, r := range j.rows {
		p.carry(r, rewards[i*each:i*each:(i+1)*each])
		if Scorable(r.Status) {
			alive = append(alive, r)
		}
	}
	if p.earlier != nil {
		p.earlier.look(alive, p.rewards)
	}
	for _, c := range p.rewards {
		if err := p.component(ctx, c, alive); err != nil {
			return err
		}
	}
	j.scores = p.room(len(j.rows))
	for i, r := range j.rows {
		if !Scorable(r.Status) {
			p.unscored(r)
		}
		j.scores[i] = scored(r)
	}
	return nil
}

// component gives every row one reward: computed, or carried over.
func (p *pipeline) component(ctx context.Context, c component, rows []*Row) error {
	if p.earlier == nil {
		return p.compute(ctx, c, rows)
	}
	due, kept := p.earlier.split(rows, c)
	for _, r := range kept {
		r.Earlier = append(r.Earlier, r.before.kept(c.Spec))
		if p.earlier.steps[c.Name] {
			r.steps = append(r.steps, c.Name)
		}
	}
	for _, r := range due {
		r.before.computed = append(r.before.computed, c.Name)
	}
	return p.compute(ctx, c, due)
}

func (p *pipeline) compute(ctx context.Context, c component, rows []*Row) error {
	if len(rows) == 0 {
		return ctx.Err()
	}
	values := make([]Value, len(rows))
	for i := range values {
		values[i].Failure = formats.RewardMissing
	}
	if err := c.Score(ctx, rows, values); err != nil {
		var known *stages.Error
		if errors.As(err, &known) {
			return stages.Errorf(known.Kind, known.Help, "score: reward %q: %w", c.Name, err)
		}
		return stages.Errorf(stages.KindFailed, "", "score: reward %q: %w", c.Name, err)
	}
	for i, r := range rows {
		v := checked(values[i])
		if v.Failure == "" {
			shaped, ok := addShaped(r.fresh, v.Shaped, c.Weight)
			if !ok {
				v = Failed(formats.RewardAnswer, "%d shaped rewards do not fit the %d of the rewards before", len(v.Shaped), len(r.fresh))
			} else {
				r.fresh = shaped
			}
			if v.Shaped != nil {
				r.steps = append(r.steps, c.Name)
				p.show(r, c.Name, v.Shaped)
			}
		}
		r.Earlier = append(r.Earlier, named(c.Spec, v))
	}
	return nil
}

// show passes a row's shaped rewards to the rewards that read them.
func (p *pipeline) show(r *Row, name string, shaped []float64) {
	if !p.shown[name] {
		return
	}
	if r.Shaped == nil {
		r.Shaped = map[string][]float64{}
	}
	r.Shaped[name] = shaped
}

// carry keeps those of a row's earlier rewards that are not computed again, in
// one order for all rows. Shaped rewards are the sum of all components, so they
// are kept only if none of these is replaced; new ones are added to them, and
// rewards computed from them replace them.
func (p *pipeline) carry(r *Row, room []formats.NamedReward) {
	before := r.Earlier
	r.Earlier = room
	for _, spec := range p.kept {
		n := formats.NamedReward{Name: spec.Name, Weight: spec.Weight, Failure: formats.RewardMissing}
		for i := range before {
			if before[i].Name == spec.Name {
				n = before[i]
			}
		}
		r.Earlier = append(r.Earlier, n)
	}
	switch {
	case len(p.kept) != len(before) || r.shaped == nil:
	case p.shown[""]:
		p.show(r, "", r.shaped)
	default:
		r.fresh = slices.Clone(r.shaped)
		r.steps = append(r.steps, p.stepped...)
	}
}

// unscored gives a trajectory that failed every reward, all null.
func (p *pipeline) unscored(r *Row) {
	r.Earlier = r.Earlier[:len(p.kept)]
	for _, c := range p.rewards {
		r.Earlier = append(r.Earlier, named(c.Spec, Value{Failure: formats.RewardTrajectory}))
	}
}
