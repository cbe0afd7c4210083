package dataset

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/secret"
)

// redactRows keeps the secrets of the process out of rows. It returns how many
// values it replaced. It sets fields of the rows, and changes nothing that these
// share with others.
func redactRows[T any](s *secret.Set, rows []T) (replaced int) {
	if !s.Known() {
		return 0
	}
	for i := range rows {
		if t, wide := any(&rows[i]).(*formats.Trajectory); wide {
			n, _ := s.Trajectory(t)
			replaced += n
		} else {
			replaced += s.Value(&rows[i])
		}
	}
	return replaced
}

// redacted returns the spec as it may be stored: without secrets, and without
// values that the config file expanded from the environment. The identity is
// that of the original spec.
func (s Spec) redacted(set *secret.Set) Spec {
	if !set.Settings().Known() {
		return s
	}
	settings := set.Settings()
	if s.Params != nil {
		var params map[string]any
		if unmarshal(encode(s.Params), &params) == nil {
			settings.Value(&params)
			s.Params = params
		}
	}
	if s.Files != nil {
		files := make(map[string]string, len(s.Files))
		for name, digest := range s.Files {
			files[settings.Redact(name)] = digest
		}
		s.Files = files
	}
	return s
}
