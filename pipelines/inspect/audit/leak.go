package audit

import (
	"context"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// example is what a row was made for.
type example struct {
	TrajectoryID string `parquet:"trajectory_id"`
	ExampleID    string `parquet:"example_id,dict"`
	Example      string `parquet:"example"`
}

func (e *example) says(o *example) bool { return e.ExampleID == o.ExampleID && e.Example == o.Example }

// validation tells rollouts of a validation by where they lie.
func validation(d *dataset.Dataset) bool {
	return slices.Contains(strings.Split(d.URI(), "/"), "validation")
}

// heldOut is what validations ask: ids, unless these are row numbers, and what
// examples say. It grows with the validation's examples.
type heldOut struct {
	ids      map[string]bool
	contents map[xxh3.Uint128]bool
}

func (h *heldOut) add(_ int64, e *example) {
	if !formats.Numbered(e.ExampleID) {
		h.ids[e.ExampleID] = true
	}
	if key, ok := formats.ExampleContent(e.Example); ok {
		h.contents[key] = true
	}
}

func (h *heldOut) has(e *example) bool {
	key, says := formats.ExampleContent(e.Example)
	return h.ids[e.ExampleID] || says && h.contents[key]
}

// leaks says which examples are trained on and also in a validation. Curated
// datasets are what is trained on; where there is none yet, rollouts are.
func (a *auditor) leaks(ctx context.Context) error {
	held := heldOut{map[string]bool{}, map[xxh3.Uint128]bool{}}
	var rollouts, curated []*dataset.Dataset
	for _, d := range a.found.Datasets {
		switch {
		case d.Kind != formats.KindTrajectories || a.damaged[d]:
		case validation(d):
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
		c := count{}
		if err := distinct(ctx, d, func(row int64, e *example) {
			if c.of++; held.has(e) {
				c.add(&Row{Number: row, TrajectoryID: e.TrajectoryID}, "", "example "+e.ExampleID)
			}
		}); err != nil {
			return err
		}
		for _, f := range c.over(0, "examples are in a validation too") {
			f.Check, f.Severity, f.URI = checkLeak, Error, d.URI()
			a.add(f)
		}
	}
	return nil
}

// distinct calls f with each example of a dataset, its generations once.
func distinct(ctx context.Context, d *dataset.Dataset, f func(row int64, e *example)) error {
	r, err := dataset.NewReader[example](ctx, d, "", d.All())
	if err != nil {
		return err
	}
	var last example
	return batches(r, func(first int64, list []example) error {
		for i := range list {
			e := &list[i]
			if row := first + int64(i); row == 0 || !e.says(&last) {
				last = example{strings.Clone(e.TrajectoryID), strings.Clone(e.ExampleID), strings.Clone(e.Example)}
				f(row, &last)
			}
		}
		return nil
	})
}
