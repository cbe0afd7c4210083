package file

import "github.com/rollmill/rollmill/formats"

// Settings are what changes the files beside their kinds.
func (t *Trainer) Settings() formats.Settings {
	s := formats.Settings{}
	s.Add("accept-plain-assistant", t.cfg.AcceptPlainAssistant)
	return s
}
