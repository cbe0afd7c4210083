package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/pipelines/inspect"
)

// shown is how many places of a trouble are shown.
const shown = 5

// maxSorts is how many sorts of a trouble are told apart: the rest is one.
// Model names and temperatures are the data's, and no list is closed.
const maxSorts = 20

const otherSorts = "others"

// count is how often a trouble was met, by its sort.
type count struct {
	n, of int64
	sorts map[string]int64
	first []Place
}

// add counts a row in. A sort of "" has no name of its own.
func (c *count) add(r *Row, sort, detail string) {
	c.n++
	if sort != "" {
		c.sorted(sort)
	}
	if len(c.first) < shown {
		c.first = append(c.first, place(r.Number, r.TrajectoryID, detail))
	}
}

func (c *count) sorted(sort string) {
	if c.sorts == nil {
		c.sorts = map[string]int64{}
	}
	if _, known := c.sorts[sort]; !known && len(c.sorts) >= maxSorts {
		sort = otherSorts
	}
	c.sorts[strings.Clone(sort)]++
}

// place keeps a row that is only lent.
func place(row int64, id, detail string) Place {
	return Place{row, strings.Clone(id), strings.Clone(line(detail))}
}

// maxDetail is how many characters of a detail are kept: a program's last
// words may be many.
const maxDetail = 160

// line makes a text of the data one line, and not too long.
func line(text string) string {
	text = inspect.Line(text)
	if runes := []rune(text); len(runes) > maxDetail {
		return string(runes[:maxDetail]) + "…"
	}
	return text
}

// over returns the finding when the trouble was met in more than a share.
func (c *count) over(share float64, what string, args ...any) []Finding {
	if c.n == 0 || float64(c.n) <= share*float64(c.of) {
		return nil
	}
	what = fmt.Sprintf(what, args...)
	if len(c.sorts) > 0 {
		what += ": " + c.list()
	}
	return []Finding{{What: what, Count: c.n, Of: c.of, First: c.first}}
}

// list is the sorts, the most frequent first.
func (c *count) list() string {
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
