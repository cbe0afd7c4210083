package curate

import (
	"context"

	"github.com/rollmill/rollmill/stages"
)

// Run decides about the groups of o.In and writes the dataset o.Out.
func Run(ctx context.Context, o Options) (stages.Report, error) {
	return stages.Report{}, stages.Errorf(stages.KindFailed, "", "curate: not built yet")
}
