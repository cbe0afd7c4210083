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
	training, validation := []history.Reward{}, []history.Reward{}
	state := &history.CurriculumState{}
	for _, e := range run.Epochs {
		if e.Train != nil {
			if err := json.NewEncoder(&lines).Encode(history.MetricsOf(e)); err != nil {
				return nil, err
			}
			training = append(training, history.RewardOf(e, e.Train, &e.Train.Trajectories, nil))
		}
		if e.Validation != nil {
			r := history.RewardOf(e, e.Validation, nil, &e.Validation.Examples)
			if e.Train == nil {
				r.Scores, r.Took = e.Scores, e.Took
			}
			validation = append(validation, r)
		}
		if s := history.StateOf(e); s != nil {
			state = s
		}
	}
	files := []plot.File{{Name: history.MetricsFile, Data: lines.Bytes()}}
	for _, f := range []struct {
		name string
		v    any
	}{{history.TrainingFile, training}, {history.ValidationFile, validation}, {"curriculum_state.json", state}} {
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
