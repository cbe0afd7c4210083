package main

import (
	"strings"

	"github.com/rollmill/rollmill/stages"
)

// words lists the values of a closed set of texts.
func words[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

// finish tells what a stage did and prints its dataset.
func (s *session) finish(r stages.Report, object any, err error) error {
	if err != nil {
		return err
	}
	s.say("%s", summary(r))
	return s.result(r.URI, object)
}
