package score

import (
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// rowReader reads trajectories. Those that next returns are the caller's, or valid
// until it is called again if same is set.
type rowReader struct {
	*dataset.Reader[formats.Trajectory]
	out  []formats.Trajectory
	same bool // out is used again
}

// openRows reads some columns of trajectories; nil: all.
func openRows(ctx context.Context, d *dataset.Dataset, r dataset.Range, columns []string) (*rowReader, error) {
	var reader *dataset.Reader[formats.Trajectory]
	var err error
	if columns == nil {
		reader, err = dataset.NewReader[formats.Trajectory](ctx, d, "", r)
	} else {
		reader, err = dataset.NewReaderOf[formats.Trajectory](ctx, d, r, columns)
	}
	if err != nil {
		return nil, err
	}
	return &rowReader{Reader: reader}, nil
}

func (c *rowReader) next(n int) ([]formats.Trajectory, error) {
	if !c.same {
		c.out = nil
	}
	c.out = slices.Grow(c.out[:0], n)[:n]
	n, err := c.Read(c.out)
	return c.out[:n], err
}
