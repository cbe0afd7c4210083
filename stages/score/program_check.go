package score

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/storage/fault"
)

// checkedRows is how many rows have to fail for a program's own fault, before any has
// a value, until the program is taken for broken.
const checkedRows = 8

// programFaults are the failures of a program that does not do what its protocol
// says, whatever the row: most often one that cannot start.
var programFaults = []string{outcomes.RewardCrashed, outcomes.RewardTimeout, outcomes.RewardAnswer}

// programCheck runs the programs on the first row before a row is written, and on the next ones
// if it fails for a program's fault. When all of them do, the stage ends: a misspelt program
// would fail every row, and its dataset would be in the way of the mended one.
type programCheck struct {
	*pipeline
	failed int // rows so far
	done   bool
}

// batch is called with each batch, until one row has a value.
func (t *programCheck) batch(ctx context.Context, rows []*Row) error {
	programs := t.rewards.checkable()
	t.done = t.done || len(programs) == 0 || t.in.copies != nil || t.keepBroken
	for from := 0; !t.done; {
		alive := slices.DeleteFunc(slices.Clone(rows[from:]), func(r *Row) bool { return !Scorable(r.Status) })
		n := min(len(alive), 1)
		if t.failed > 0 {
			n = min(len(alive), checkedRows-t.failed)
		}
		if n == 0 {
			return nil
		}
		if err := t.rows(ctx, programs, alive[:n]); err != nil {
			return err
		}
		from = slices.Index(rows, alive[n-1]) + 1
	}
	return nil
}

// rows runs the programs on rows, each by itself.
func (t *programCheck) rows(ctx context.Context, programs []component, rows []*Row) error {
	faults := make([]*formats.NamedReward, len(rows))
	g, within := errgroup.WithContext(ctx)
	for i, r := range rows {
		g.Go(func() (err error) {
			faults[i], err = t.fault(within, programs, r)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if slices.Contains(faults, nil) {
		t.done = true
		return nil
	}
	if t.failed += len(rows); t.failed < checkedRows {
		return nil
	}
	last := faults[len(faults)-1]
	return broken(fmt.Sprintf("the first %d", t.failed), last)
}

// fault returns the first program's reward of a row that failed for the program's
// own fault, or nil. What the others answered is kept: a row is sent once.
func (t *programCheck) fault(ctx context.Context, programs []component, r *Row) (*formats.NamedReward, error) {
	row, room := *r, &buffer{}
	t.carry(&row, room.named(len(t.carried)+len(t.rewards)))
	for _, c := range programs {
		if err := t.compute(ctx, room, c, []*Row{&row}); err != nil {
			return nil, err
		}
		made := &row.Known[len(row.Known)-1]
		if slices.Contains(programFaults, made.Failure) {
			return made, nil
		}
		if c.Words != nil {
			if r.tried == nil {
				r.tried = map[string]Value{}
			}
			r.tried[c.Name] = room.values[0]
		}
	}
	return nil, nil
}

// broken is the error of a program that failed every row.
func broken(rows string, r *formats.NamedReward) error {
	return fault.Errorf(fault.Failed,
		"mend the program, or its arguments in --reward, and run the same command again, since nothing was kept; `rollmill "+
			"check` starts it once",
		"score: reward %q: %s trajectories failed: %s: %s", r.Name, rows, r.Failure, r.Error)
}

// checkable returns the programs, with the rewards before them that cost nothing. Those after a
// service, a judge or a reward of a whole group are not tried: they may read its value.
func (b rewardSet) checkable() []component {
	var out []component
	programs := 0
	for _, c := range b {
		if c.Relative || !c.Immediate && c.Words == nil {
			break
		}
		if out = append(out, c); c.Words != nil {
			programs = len(out)
		}
	}
	return out[:programs]
}
