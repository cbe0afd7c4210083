package redaction

import (
	"fmt"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/plural"
)

// Counts is what was replaced.
type Counts struct {
	Found  map[string]int64 `json:"found,omitempty"`  // by detector, pattern or field
	Rows   int64            `json:"rows"`             // that changed
	Tokens int64            `json:"tokens,omitempty"` // rows that lost their token ids and logprobs
}

func (c *Counts) Add(other Counts) {
	for name, n := range other.Found {
		c.found(name, n)
	}
	c.Rows += other.Rows
	c.Tokens += other.Tokens
}

func (c *Counts) found(name string, n int64) {
	if c.Found == nil {
		c.Found = map[string]int64{}
	}
	c.Found[name] += n
}

// Total returns how many places were replaced.
func (c Counts) Total() (n int64) {
	for _, k := range c.Found {
		n += k
	}
	return n
}

// String lists what was replaced, the most frequent first.
func (c Counts) String() string {
	if c.Rows == 0 {
		return "nothing"
	}
	text := plural.Counts(c.Found, func(name string, n int64) string { return fmt.Sprint(n, " ", name) }) + " in " + plural.Of(c.Rows, "row")
	if c.Tokens > 0 {
		text += "; " + plural.Of(c.Tokens, "row") + " lost token ids and logprobs"
	}
	return text
}

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
