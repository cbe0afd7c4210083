package curate

import (
	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// Holdout is the set of examples that are never trained on, from validation rollouts.
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
