package records

import "github.com/rollmill/rollmill/formats/parquet"

// readParquet yields one object for each row: columns in their order, lists and
// structs as JSON. Nulls stay null, but see File.Sparse.
func readParquet(s File, yield func(Record) bool) error {
	read := parquet.JSON
	if s.Sparse {
		read = parquet.SparseJSON
	}
	for object, err := range read(s.Name, s.R, s.Size) {
		if err != nil || !yield(Record{Object: object}) {
			return err
		}
	}
	return nil
}
