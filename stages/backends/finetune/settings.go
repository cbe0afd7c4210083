package finetune

import "github.com/rollmill/rollmill/formats"

// Settings are what changes the model that a job makes.
func (t *Trainer) Settings() formats.Settings {
	c, s := t.cfg, formats.Settings{}
	if c.Method == Supervised && c.Best != 1 {
		s.Add("best", c.Best)
	}
	s.Add("suffix", c.Suffix)
	s.Add("job-seed", c.Seed)
	formats.AddAll(s, "hyperparameters", c.Hyperparameters)
	formats.AddAll(s, "grader", c.Grader)
	s.Add("validation-share", c.Validation)
	if c.Validation > 0 {
		s.Add("split-seed", c.SplitSeed)
	}
	return s
}
