package monitors

import "context"

// Keeper is a monitor that keeps the figures of every epoch, not only of the present
// one. Command report gives it those of a run's datasets, for runs that were not
// watched.
type Keeper interface {
	Monitor

	// Distribution gets the rewards of a stage, after its figures. It may do nothing.
	Distribution(ctx context.Context, f Figures) error
}
