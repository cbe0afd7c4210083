package redaction

import (
	"iter"

	"github.com/rollmill/rollmill/formats"
)

// Tables returns tables whose rows are redacted when they are read. count gets
// the counts of each row that changed; nil: they are not counted.
func (r *Rules) Tables(t formats.Tables, count func(Counts)) formats.Tables {
	if r == nil {
		return t
	}
	return formats.Tables{Columns: t.Columns, Pairs: redacted(t.Pairs, r.Pair, count), Labels: redacted(t.Labels, r.Label, count)}
}

func redacted[T any](rows iter.Seq2[T, error], change func(*T) Counts, count func(Counts)) iter.Seq2[T, error] {
	if rows == nil {
		return nil
	}
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			if err == nil {
				if c := change(&row); count != nil && c.Rows > 0 {
					count(c)
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}
