package score

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

func (p *pipeline) write(ctx context.Context, ordered <-chan *job) error {
	var before *job // which ends a group, unless the next one begins with the same
	for j := range ordered {
		select {
		case <-j.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := p.count(j); err != nil {
			return err
		}
		if err := p.writeJob(ctx, before, j); err != nil {
			return err
		}
		before = j
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.writeJob(ctx, before, nil)
}

func (p *pipeline) count(j *job) error {
	for i := range j.scores {
		s := &j.scores[i]
		if err := p.tally.add(s); err != nil {
			return err
		}
		if s.Failure != "" {
			p.meter.Failed(s.Failure)
			p.warn(s)
		}
	}
	for name, n := range j.facts {
		p.tally.facts[name] += float64(n)
	}
	p.meter.Add(int64(len(j.scores)))
	return nil
}

// writeJob writes the scores of a job; a group that goes on in the next job is written with
// that. Columns that the base has too are copied, if the job is one of its row groups.
func (p *pipeline) writeJob(ctx context.Context, j, next *job) (err error) {
	if j == nil {
		return nil
	}
	scores, moved := j.scores, false
	if next != nil && sameGroup(&scores[len(scores)-1], &next.scores[0]) {
		cut := len(scores) - 1
		for cut > 0 && sameGroup(&scores[cut-1], &scores[cut]) {
			cut--
		}
		next.span.First -= int64(len(scores) - cut)
		next.scores = append(scores[cut:len(scores):len(scores)], next.scores...)
		scores, moved = scores[:cut], true
	}
	var ends []int // of groups
	for i := range scores {
		if i+1 == len(scores) || !sameGroup(&scores[i], &scores[i+1]) {
			ends = append(ends, i+1)
		}
	}
	if n := len(scores); n > 0 && p.copied.RowGroup(j.span.First) == int64(n) {
		err = p.out.CopyColumns(ctx, p.copied, j.span.First, scores, ends)
	} else {
		err = p.out.WriteGroups(ctx, scores, ends)
	}
	if !moved {
		p.release(j.buffer)
	}
	return err
}

func sameGroup(a, b *formats.Score) bool { return a.ExampleID == b.ExampleID && a.Epoch == b.Epoch }

// warn logs the first failure of each class of each reward.
func (p *pipeline) warn(s *formats.Score) {
	for i := range s.Rewards {
		r := &s.Rewards[i]
		if key := r.Name + " " + r.Failure; r.Failure != "" && r.Failure != outcomes.RewardTrajectory && !p.warned[key] {
			if p.warned == nil {
				p.warned = map[string]bool{}
			}
			p.warned[key] = true
			p.log.Warn("a trajectory has no reward", "reward", r.Name, "failure", r.Failure, "error", r.Error,
				"trajectory_id", s.TrajectoryID)
		}
	}
}
