package convert

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats/spill"
)

// errScattered is the end of an import whose groups are not adjacent; it begins
// again with a sorter.
var errScattered = errors.New("the rows of a group are not adjacent")

// gatherer collects rows into groups and passes each on.
type gatherer interface {
	add(ctx context.Context, r *row) error
	end(ctx context.Context) error
	close()
}

// adjacent passes a group on when a row of another one comes, and fails with
// errScattered when it finds a row of an earlier group, at the latest in the end.
// Two groups with the same hash cost time, and nothing else.
type adjacent struct {
	emit  func(context.Context, []*row) error
	group []*row
	begun *spill.Set
}

// setMemory is the memory for finding groups that begin twice before it spills: a
// quarter of a million of them.
const setMemory = 2 << 20

func newAdjacent(o *ImportOptions, emit func(context.Context, []*row) error) *adjacent {
	return &adjacent{emit: emit, begun: spill.NewSet(o.Spill.Dir, min(setMemory, o.Spill.Memory))}
}

func (a *adjacent) close() { _ = a.begun.Close() } // its content is no longer needed

func (a *adjacent) add(ctx context.Context, r *row) error {
	if len(a.group) > 0 && (r.Row.ExampleID != a.group[0].Row.ExampleID || r.Row.Epoch != a.group[0].Row.Epoch) {
		if err := a.pass(ctx); err != nil {
			return err
		}
	}
	if len(a.group) == 0 {
		twice, err := a.begun.Add(r.key().lo)
		switch {
		case err != nil:
			return err
		case twice:
			return errScattered
		}
	}
	a.group = append(a.group, r)
	return nil
}

// pass passes the group on.
func (a *adjacent) pass(ctx context.Context) error {
	err := a.emit(ctx, a.group)
	clear(a.group)
	a.group = a.group[:0]
	return err
}

func (a *adjacent) end(ctx context.Context) error {
	if len(a.group) == 0 {
		return nil
	}
	if err := a.pass(ctx); err != nil {
		return err
	}
	twice, err := a.begun.Twice()
	if err == nil && twice {
		err = errScattered
	}
	return err
}
