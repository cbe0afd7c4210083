package group

import (
	"context"

	"github.com/rollmill/rollmill/stages"
)

// Run groups the trajectories of o.In and writes the dataset o.Out.
func Run(ctx context.Context, o Options) (stages.Report, error) {
	return stages.Report{}, stages.Errorf(stages.KindFailed, "", "group: not built yet")
}
