package validate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// MaxPlaces is how many places of a fault are kept.
const MaxPlaces = 5

// maxSorts is how many sorts of a fault are told apart: the rest is one.
// Model names and temperatures are the data's, and no list is closed.
const maxSorts = 20

const otherSorts = "others"

// Count is how often a fault was met, by its sort.
type Count struct {
	N, Of int64   // how often, of how many
	First []Place // a few
	sorts map[string]int64
}

// Add counts a row in. A sort of "" has no name of its own.
func (c *Count) Add(r *Row, sort, detail string) {
	c.N++
	if sort != "" {
		c.sorted(sort)
	}
	if len(c.First) < MaxPlaces {
		c.First = append(c.First, PlaceOf(r.Number, r.TrajectoryID, detail))
	}
}

func (c *Count) sorted(sort string) {
	if c.sorts == nil {
		c.sorts = map[string]int64{}
	}
	if _, known := c.sorts[sort]; !known && len(c.sorts) >= maxSorts {
		sort = otherSorts
	}
	c.sorts[strings.Clone(sort)]++
}

// PlaceOf keeps a row that is only lent.
func PlaceOf(row int64, id, detail string) Place {
	return Place{row, strings.Clone(id), strings.Clone(line(detail))}
}

// maxDetail is how many characters of a detail are kept: a program's last
// words may be many.
const maxDetail = 160

// line makes a text of the data one line, and not too long.
func line(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }), " ")
	if runes := []rune(text); len(runes) > maxDetail {
		return string(runes[:maxDetail]) + "…"
	}
	return text
}

// Over returns the finding when more than a share has the fault.
func (c *Count) Over(share float64, what string, args ...any) []Finding {
	if c.N == 0 || float64(c.N) <= share*float64(c.Of) {
		return nil
	}
	what = fmt.Sprintf(what, args...)
	if len(c.sorts) > 0 {
		what += ": " + c.list()
	}
	return []Finding{{What: what, Count: c.N, Of: c.Of, First: c.First}}
}

// list is the sorts, the most frequent first.
func (c *Count) list() string {
	var parts []string
	for _, s := range slices.SortedFunc(maps.Keys(c.sorts), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.sorts[b], c.sorts[a]), strings.Compare(a, b))
	}) {
		parts = append(parts, fmt.Sprintf("%d %s", c.sorts[s], line(s)))
	}
	return strings.Join(parts, ", ")
}

// neighbours calls f with what was gathered of each group as the next begins.
// Its last group is handed over by end.
type neighbours[T any] struct {
	group string
	open  bool
	of    []T
	f     func([]T)
}

func (g *neighbours[T]) add(group string, x T) {
	if g.open && group != g.group {
		g.end()
	}
	if !g.open {
		g.group, g.open = strings.Clone(group), true
	}
	g.of = append(g.of, x)
}

func (g *neighbours[T]) end() {
	if g.open {
		g.f(g.of)
	}
	g.of, g.open = g.of[:0], false
}
