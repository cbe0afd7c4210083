package history

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
)

// Funnel is what the rules of curate refused.
type Funnel struct {
	Steps []decision.FunnelStep // rules that refused something
	Start int64                 // trajectories that it began with
	Quiet int                   // rules that refused nothing
}

// FunnelOf returns the funnel of a curated dataset, nil if another program wrote it.
func FunnelOf(d *dataset.Dataset) *Funnel {
	var state decision.CurateState
	if json.Unmarshal(d.State, &state) != nil {
		return nil
	}
	f := &Funnel{Start: d.Counts["kept"] + d.Counts["dropped"]}
	for _, step := range decision.Funnel(state.Order, int64(d.Facts["groups"]), f.Start, d.Facts) {
		if step.Trajectories > 0 || step.Groups > 0 {
			f.Steps = append(f.Steps, step)
		} else {
			f.Quiet++
		}
	}
	return f
}
