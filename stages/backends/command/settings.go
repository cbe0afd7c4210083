package command

import "github.com/rollmill/rollmill/formats"

// InPlace reports whether the program advances one policy.
func (t *Trainer) InPlace() bool { return !t.cfg.NewModel }

// Settings are what the program is told.
func (t *Trainer) Settings() formats.Settings {
	s := formats.Settings{}
	formats.AddAll(s, "settings", t.cfg.Settings)
	return s
}
