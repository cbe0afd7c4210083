package customizer

import "github.com/rollmill/rollmill/formats"

// Settings are what changes the model that a job makes, and its name.
func (t *Trainer) Settings() formats.Settings {
	c, s := t.cfg, formats.Settings{}
	if c.Best != 1 {
		s.Add("best", c.Best)
	}
	s.Add("output-model", c.OutputModel)
	formats.AddAll(s, "hyperparameters", c.Hyperparameters)
	formats.AddAll(s, "dataset-parameters", c.DatasetParameters)
	s.Add("validation-share", c.Validation)
	s.Add("split-seed", c.SplitSeed)
	return s
}
