package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/plot"
)

func render(run history.Run) ([]plot.File, error) {
	var lines bytes.Buffer
	training, validation := []reward{}, []reward{}
	state := &curriculumState{}
	for _, e := range run.Epochs {
		if e.Train != nil {
			if err := json.NewEncoder(&lines).Encode(metricsOf(e)); err != nil {
				return nil, err
			}
			training = append(training, rewardOf(e, e.Train, &e.Train.Trajectories, nil))
		}
		if e.Validation != nil {
			validation = append(validation, rewardOf(e, e.Validation, nil, &e.Validation.Examples))
		}
		if s := stateOf(e); s != nil {
			state = s
		}
	}
	files := []plot.File{{Name: "training_metrics.jsonl", Data: lines.Bytes()}}
	for _, f := range []struct {
		name string
		v    any
	}{{"reward_history.json", training}, {"validation_history.json", validation}, {"curriculum_state.json", state}, {history.File, run}} {
		data, err := json.MarshalIndent(f.v, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files = append(files, plot.File{Name: f.name, Data: append(data, '\n')})
	}
	plots, err := plot.RewardFigure(run).Files("reward_plot")
	if err != nil {
		return nil, fmt.Errorf("reward_plot: %w", err)
	}
	return append(files, plots...), nil
}
