package report

import (
	"context"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/storage"
)

// Stage is a finished stage of an epoch.
type Stage struct {
	Validation bool
	*dataset.Dataset
}

// Stages returns the datasets of an epoch that are finished, in the order of the data:
// those of its last extension, if there is one.
func Stages(ctx context.Context, root string, epoch int) (out []Stage, err error) {
	dir := run.Layout{Root: root}.Epoch(epoch)
	last, err := extended(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, of := range []struct {
		dir        string
		validation bool
		names      []string
	}{{storage.Join(dir, "validation"), true, []string{"rollout", "score"}},
		{last, false, []string{"rollout", "score", "group", "curate"}}} {
		for _, name := range of.names {
			d, err := open(ctx, storage.Join(of.dir, name))
			if err != nil {
				return nil, err
			}
			if d != nil {
				out = append(out, Stage{of.validation, d})
			}
		}
	}
	return out, nil
}
