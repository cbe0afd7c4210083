package foreigntest

import (
	"iter"

	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// All converts the records of a file one after the other. An error ends it: the
// file cannot be read.
func All(f importers.Format, file importers.File) iter.Seq2[importers.Parsed, error] {
	return func(yield func(importers.Parsed, error) bool) {
		for r, err := range f.Records.All(file) {
			if err != nil {
				yield(importers.Parsed{}, err)
				return
			}
			if !yield(f.Convert(r), nil) {
				return
			}
		}
	}
}
