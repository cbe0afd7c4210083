package rollout

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/stages"
)

// Run runs this shard's examples and writes its part of the dataset.
func Run(ctx context.Context, o Options) (stages.Report, error) {
	return stages.Report{}, errors.New("rollout: not yet")
}
