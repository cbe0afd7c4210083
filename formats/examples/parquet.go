package examples

import (
	"iter"

	"github.com/rollmill/rollmill/formats/parquet"
)

// readParquet yields one object for each row: columns in their order, lists and
// structs as JSON. Nulls stay null.
func readParquet(s source) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		for object, err := range parquet.JSON(s.name, s.r, s.size) {
			if !yield(line{object: object}, err) || err != nil {
				return
			}
		}
	}
}
