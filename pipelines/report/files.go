package report

import (
	"bytes"
	"encoding/json"
	"fmt"
)

func render(run Run) ([]file, error) {
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
			r := rewardOf(e, e.Validation, nil, &e.Validation.Examples)
			if e.Train == nil {
				r.Scores, r.Took = e.Scores, e.Took
			}
			validation = append(validation, r)
		}
		if s := stateOf(e); s != nil {
			state = s
		}
	}
	files := []file{{metricsFile, lines.Bytes()}}
	for _, f := range []struct {
		name string
		v    any
	}{{trainingFile, training}, {validationFile, validation}, {"curriculum_state.json", state}} {
		data, err := json.MarshalIndent(f.v, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files = append(files, file{f.name, append(data, '\n')})
	}
	plots, err := rewardFigure(run).files("reward_plot")
	if err != nil {
		return nil, fmt.Errorf("reward_plot: %w", err)
	}
	return append(files, plots...), nil
}
