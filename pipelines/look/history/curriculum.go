package history

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// Curriculum is the state of the curriculum when an epoch was curated.
type Curriculum struct {
	decision.CurriculumState
	Config map[string]any `json:"config"`      // curate's settings, as its manifest has them
	Chosen []int          `json:"kept_groups"` // indexes of the groups of which a row was kept
}

// curriculumOf returns the curriculum that curate stored in a dataset, or nil.
func curriculumOf(ctx context.Context, d *dataset.Dataset) (*Curriculum, error) {
	if d.State == nil {
		return nil, nil
	}
	var state decision.CurateState
	if err := json.Unmarshal(d.State, &state); err != nil {
		return nil, fault.Invalid(d.URI(), "", err, "the state of curate cannot be read")
	}
	raw, ok := state.Rules[decision.RuleCurriculum]
	if !ok {
		return nil, nil
	}
	c := &Curriculum{}
	if err := json.Unmarshal(raw, &c.CurriculumState); err != nil {
		return nil, fault.Invalid(d.URI(), "", err, "the state of the curriculum cannot be read")
	}
	c.Config, _ = d.Params["curriculum"].(map[string]any)
	var err error
	c.Chosen, err = chosen(ctx, d)
	return c, err
}

// decided has the columns of _decisions that show which groups were kept.
type decided struct {
	GroupID string `parquet:"group_id,dict"`
	Kept    bool   `parquet:"kept"`
}

func chosen(ctx context.Context, d *dataset.Dataset) ([]int, error) {
	out, at := []int{}, -1
	err := dataset.Groups(ctx, d, schema.TableDecisions, d.AllOf(schema.TableDecisions), func(r *decided) string { return r.GroupID },
		func(_ int64, rows []decided) error {
			at++
			if slices.ContainsFunc(rows, func(r decided) bool { return r.Kept }) {
				out = append(out, at)
			}
			return nil
		})
	return out, err
}
