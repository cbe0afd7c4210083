package plugin

// SpecForm returns the setting as it is written in a spec.
func (s *Setting) SpecForm() string {
	if s.whole || s.first {
		return s.Placeholder()
	}
	return s.Name + "=" + s.Placeholder()
}

// FirstInSpec marks the setting that a spec string gives first, without a key.
func (s *Setting) FirstInSpec() *Setting { s.first = true; return s }

// WholeSpec marks the setting that takes a spec's arguments as one text.
func (s *Setting) WholeSpec() *Setting { s.whole = true; return s }

// LastInSpec marks the setting that takes everything after its key, including commas.
func (s *Setting) LastInSpec() *Setting { s.last = true; return s }
