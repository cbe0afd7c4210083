package hub

import "github.com/rollmill/rollmill/formats"

// Settings are what changes the files that are pushed.
func (t *Trainer) Settings() formats.Settings {
	c, s := t.cfg, formats.Settings{}
	s.Add("keep-earlier", c.Keep)
	s.Add("validation-share", c.Validation)
	if c.Validation > 0 {
		s.Add("split-seed", c.SplitSeed)
	}
	return s
}
