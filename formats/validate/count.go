package validate

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/plural"
)

// MaxPlaces is the largest number of places of a fault that are kept.
const MaxPlaces = 5

// maxSorts is the number of sorts of a fault that are counted separately: all
// others are counted as one. Model names and temperatures come from the data,
// so there is no closed list.
const maxSorts = 20

// Count is how often a fault occurred, by its sort.
type Count struct {
	N, Of int64   // how often, of how many
	First []Place // the first few
	sorts map[string]int64
	bare  bool // only N is wanted
}

// Add counts a row. The sort "" has no name of its own. The detail is a format for the arguments.
func (c *Count) Add(r *Row, sort, detail string, args ...any) {
	c.add(kept{r.Number, r.TrajectoryID}, sort, detail, args...)
}

func (c *Count) add(k kept, sort, detail string, args ...any) {
	if c.N++; c.bare {
		return
	}
	if sort != "" {
		c.sorted(sort)
	}
	if len(c.First) < MaxPlaces {
		c.First = append(c.First, PlaceOf(k.number, k.id, fmt.Sprintf(detail, args...)))
	}
}

func (c *Count) sorted(sort string) {
	if c.sorts == nil {
		c.sorts = map[string]int64{}
	}
	if _, known := c.sorts[sort]; !known && len(c.sorts) >= maxSorts {
		sort = "others"
	}
	c.sorts[strings.Clone(sort)]++
}

func (c *Count) counted() *Count { return c }

func (c *Count) found(k *Check) []Finding { return c.Over(k.Share, "%s", cmp.Or(k.What, k.Help)) }

// PlaceOf copies the place of a row that is valid only now.
func PlaceOf(row int64, id, detail string) Place {
	return Place{Row: row, TrajectoryID: strings.Clone(id), Detail: strings.Clone(line(detail))}
}

// maxDetail is how many characters of a detail are kept, with the mark of a cut: the end of a
// program's stderr may be long.
const maxDetail = 161

// line makes a text from the data one line of limited length.
func line(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }), " ")
	return excerpt.Start(text, maxDetail)
}

// Over returns the finding when more than a share of the rows has the fault.
func (c *Count) Over(share float64, what string, args ...any) []Finding {
	if c.N == 0 || float64(c.N) <= share*float64(c.Of) {
		return nil
	}
	what = fmt.Sprintf(what, args...)
	if len(c.sorts) > 0 {
		what += ": " + plural.Counts(c.sorts, func(s string, n int64) string { return fmt.Sprint(n, " ", line(s)) })
	}
	return []Finding{{What: what, Count: c.N, Of: c.Of, First: c.First}}
}
