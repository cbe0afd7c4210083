package records

import "github.com/rollmill/rollmill/formats/parquet"

// readParquet yields one object for each row: columns in their order, lists and
// structs as JSON. Nulls stay null, but see File.Nulls.
func readParquet(s File, yield func(Record) bool) error {
	for object, err := range parquet.JSON(s.Name, s.R, s.Size, s.Nulls, s.Unread) {
		if err != nil || !yield(Record{Object: object}) {
			return err
		}
	}
	return nil
}
