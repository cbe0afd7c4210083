package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
)

// leaks reports examples that are trained on and also in a validation. The examples that are
// trained on are those of curated datasets, or of rollouts if there is no curated dataset yet.
func (a *auditor) leaks(ctx context.Context) error {
	held := heldOut{map[string]bool{}, map[xxh3.Uint128]bool{}, map[xxh3.Uint128]string{}}
	for _, uri := range a.HeldOut {
		d, err := dataset.Open(ctx, uri, dataset.OpenOptions{Kind: schema.KindTrajectories})
		if err == nil {
			err = distinct(ctx, d, held.add)
		}
		if err != nil {
			return fmt.Errorf("reading held-out %q: %w", uri, err)
		}
	}
	var rollouts, curated []*dataset.Dataset
	for _, d := range a.found.Datasets {
		switch {
		case d.Kind != schema.KindTrajectories || a.damaged[d] || slices.Contains(a.HeldOut, d.URI()):
		case runroot.InValidation(d.URI()):
			if err := distinct(ctx, d, held.add); err != nil {
				return err
			}
		case d.Stage == "curate":
			curated = append(curated, d)
		default:
			rollouts = append(rollouts, d)
		}
	}
	if len(held.ids)+len(held.contents) == 0 {
		return nil
	}
	if curated == nil {
		curated = rollouts
	}
	for _, d := range curated {
		if err := a.leaked(ctx, d, &held); err != nil {
			return err
		}
	}
	return nil
}

// leaked reports held-out examples in one dataset.
func (a *auditor) leaked(ctx context.Context, d *dataset.Dataset, held *heldOut) error {
	var same, asked validate.Count
	err := distinct(ctx, d, func(row int64, e *example) {
		same.Of++
		asked.Of++
		switch at := (&validate.Row{Number: row, TrajectoryID: e.TrajectoryID}); {
		case held.has(e):
			same.Add(at, "", "example %s", e.ExampleID)
		case held.asks(e):
			asked.Add(at, "", "example %s", e.ExampleID)
		}
	})
	if err != nil {
		return err
	}
	a.findIn(d, checkLeak, same.Over(0, "examples are also in a validation"))
	a.findIn(d, checkLeakText, asked.Over(0, "examples have the first question of a validation example"))
	return nil
}

// distinct calls f once with each example of a dataset.
func distinct(ctx context.Context, d *dataset.Dataset, f func(row int64, e *example)) error {
	r, err := dataset.NewReader[example](ctx, d, "", d.All())
	if err != nil {
		return err
	}
	var last example
	row := int64(0)
	for e, err := range r.Each(batch) {
		if err != nil {
			return err
		}
		if row == 0 || !e.says(&last) {
			last = e.clone()
			f(row, &last)
		}
		row++
	}
	return nil
}
