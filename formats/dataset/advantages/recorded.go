package advantages

import (
	"context"
	"encoding/json"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/storage/fault"
)

// State reads what group recorded about its advantages. In a dataset without it, they are final.
func State(d *dataset.Dataset) (*training.GroupState, error) {
	if d.Kind != schema.KindGroups || len(d.State) == 0 {
		return nil, nil
	}
	var s training.GroupState
	if err := json.Unmarshal(d.State, &s); err != nil {
		return nil, fault.Invalid(d.URI(), "group the scores again", err, "its manifest has no state of group")
	}
	return &s, nil
}

// each calls f with the reward and advantage of each member that has an advantage.
func each(ctx context.Context, d *dataset.Dataset, f func(reward, advantage float64)) error {
	type columns struct {
		Reward    *float64 `parquet:"reward,optional"`
		Advantage *float64 `parquet:"advantage,optional"`
	}
	for c, err := range dataset.Each[columns](ctx, d, "", d.All()) {
		if err != nil {
			return err
		}
		if c.Reward != nil && c.Advantage != nil {
			f(*c.Reward, *c.Advantage)
		}
	}
	return nil
}
