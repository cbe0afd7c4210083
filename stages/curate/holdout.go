package curate

import (
	"context"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// Holdout is the set of examples that are never trained on, from validation
// rollouts.
type Holdout struct {
	from     []*dataset.Dataset
	ids      map[string]struct{}
	contents map[xxh3.Uint128]struct{}
}

// Holds reports whether an example is held out, and why. An id that is only a
// row number identifies nothing; two rows of a task are equal if they are,
// apart from the order of keys and a field "id".
func (h *Holdout) Holds(id, example string) (why string, held bool) {
	if h == nil {
		return "", false
	}
	if _, ok := h.ids[id]; ok && !formats.Numbered(id) {
		return "an example of this id is held out", true
	}
	if key, ok := formats.ExampleContent(example); ok {
		if _, ok := h.contents[key]; ok {
			return "an example that says the same is held out", true
		}
	}
	return "", false
}

func (src *input) openHoldout(ctx context.Context, o *Options) error {
	var held []string
	for _, a := range o.running {
		held = append(held, a.HeldOut...)
	}
	if len(held) == 0 {
		return nil
	}
	src.holdout = &Holdout{ids: map[string]struct{}{}, contents: map[xxh3.Uint128]struct{}{}}
	for _, uri := range held {
		d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
		if err != nil {
			return err
		}
		if d.Kind != schema.KindTrajectories {
			return fault.Invalid(d.URI(), "give --holdout the dataset that rollout wrote", nil,
				"it holds %s, not trajectories", d.Kind)
		}
		src.holdout.from = append(src.holdout.from, d)
		type columns struct {
			ExampleID string `parquet:"example_id,dict"`
			Example   string `parquet:"example"`
		}
		var last columns
		for c, err := range dataset.Each[columns](ctx, d, "", d.All()) {
			if err != nil {
				return err
			}
			if *c == last { // the generations of one example are adjacent
				continue
			}
			last = columns{strings.Clone(c.ExampleID), strings.Clone(c.Example)}
			src.holdout.ids[last.ExampleID] = struct{}{}
			if key, ok := formats.ExampleContent(c.Example); ok {
				src.holdout.contents[key] = struct{}{}
			}
		}
	}
	return nil
}
