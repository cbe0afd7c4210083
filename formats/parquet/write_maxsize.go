package parquet

import "unsafe"

// MaxColumnBytes is the largest number of bytes of one row in one column: more
// would not fit into any page that is written or read.
const MaxColumnBytes = maxPage / 2

// Oversize returns the column in which a row has more than MaxColumnBytes, and
// the number of bytes. The name is "" when the row can be written.
func Oversize[T any](row *T) (column string, bytes int64) {
	l := layoutOf[T]()
	s := newSizes(l.leaves, false)
	s.measure(unsafe.Pointer(row))
	for i, n := range s.columns {
		if n > MaxColumnBytes && n > bytes {
			column, bytes = columnName(l.paths[i]), n
		}
	}
	return column, bytes
}
