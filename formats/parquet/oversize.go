package parquet

import "reflect"

// MaxColumnBytes is how many bytes one row may have in one column: what is
// larger fits in no page that is written or read.
const MaxColumnBytes = maxPage / 2

// Oversize returns the column in which a row has more than MaxColumnBytes, and
// how many it has. The name is "" when the row can be written.
func Oversize[T any](row *T) (column string, bytes int64) {
	l := layoutOf[T]()
	every := make(map[string]int, len(l.paths))
	for i, path := range l.paths {
		every[columnName(path)] = i
	}
	s := &sizes{fields: sizeFields(reflect.TypeFor[T](), "", every), heavy: make([]int64, len(l.paths))}
	s.measure(reflect.ValueOf(row).Elem())
	for i, n := range s.heavy {
		if n > MaxColumnBytes && n > bytes {
			column, bytes = columnName(l.paths[i]), n
		}
	}
	return column, bytes
}
