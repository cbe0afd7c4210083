package main

import (
	"strings"

	"github.com/rollmill/rollmill/stages"
)

// joinValues returns the values of a closed set, separated by commas.
func joinValues[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

// finish prints the summary of a stage and the URI of its dataset.
func (s *session) finish(r stages.Report, object any, err error) error {
	if err != nil {
		return err
	}
	s.say("%s", summary(r))
	return s.result(r.URI, object)
}
