package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// buildTime is how long a page waits for the index of its dataset. Then it says how
// far the index is.
const buildTime = 2 * time.Second

// maxIndexes bounds the indexes in memory.
const maxIndexes = 128 << 20 // bytes

// listModel is a page of the list of groups, or of trajectories.
type listModel struct {
	Frame
	*catalogue.Entry
	What     string // groups or trajectories
	Building *query.Progress
	Query    query.Query
	Problem  string            // the condition cannot be evaluated
	Names    []string          // what a condition can read
	Hidden   map[string]string // parameters of the form besides the condition
	Heads    []head
	Rows     []listRow
	TextsURL string // of the page with the beginnings of texts, "" if it has them
	Page     *query.Page
	First    string // URLs; "" on that page
	Last     string
	Problems []string // datasets beside it that cannot be read
	URL      string   // of this page
	path     string   // of the list
}

// head is the head of a column.
type head struct {
	Name   string
	URL    string // of the list sorted by it; "" if it cannot be
	Sorted string // ascending or descending, of the column that is sorted by
	Words  bool   // the column has texts
	First  bool   // the beginnings of texts
}

// listRow is a line of a list.
type listRow struct {
	Number uint32
	Cells  []listCell
}

// listCell is a value of a row.
type listCell struct {
	Text  string
	URL   string
	Whole string // what Text is the beginning of, "" if it is all
	Words bool
	First bool // the beginning of a text of the dataset
	Bad   bool
}

// shortID returns the cell of an id: the first digits of those that rollmill makes.
func shortID(id, url string) listCell {
	c := listCell{Text: text.FirstWords(id, idDigits), URL: url, Whole: id, Words: true}
	if len(id) == idDigits && strings.Trim(id, "0123456789abcdef") == "" {
		c.Text = id[:shortDigits]
	}
	return c
}

const (
	idDigits    = 24 // of an id that rollmill made
	shortDigits = 8
)

// facetLabels are what pages call facets whose names say too little.
var facetLabels = map[string]string{"stop": "stop reason", "drop": "curate"}

// listOf returns the model of a list, with its page, and the index of its dataset, nil while
// that is being built.
func (s *Server) listOf(r *http.Request, what string, list func(*query.Index) query.List) (*listModel, *query.Index, error) {
	f, d, err := s.opened(r)
	if err != nil {
		return nil, nil, err
	}
	m := &listModel{Frame: Frame{Title: f.Stage + ": " + what, Trail: s.trailOf(f)}, Entry: f, What: what,
		path: page.Link("d", f.Key, what), URL: r.URL.RequestURI()}
	if err := m.read(r.URL.Query()); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), buildTime)
	defer cancel()
	x, progress, err := s.indexes.Index(ctx, d)
	if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
		m.Building = &progress
		return m, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	in := list(x)
	m.Problems, m.Names = x.From.Problems, in.Names()
	return m, x, m.show(r.Context(), in)
}

// read reads the parameters of a list.
func (m *listModel) read(values url.Values) error {
	m.Query = query.Query{Where: strings.TrimSpace(values.Get("where")), Order: query.OrderOf(values.Get("sort")),
		Choices: map[string]string{}}
	for name := range values {
		if query.IsFacet(name) {
			m.Query.Choices[name] = values.Get(name)
		}
	}
	if page := values.Get("page"); page != "" {
		n, err := strconv.Atoi(page)
		if err != nil || n < 1 {
			return wrong("pages count from 1", "no page %q", page)
		}
		m.Query.Page = n
	}
	return nil
}

// url returns the URL of the list with another query.
func (m *listModel) url(q query.Query) string {
	if q.Page == 1 {
		q.Page = 0
	}
	if m.Problem != "" { // the next list is one that can be shown
		q.Where = ""
	}
	pairs := []any{"where", q.Where, "sort", q.Order, "page", q.Page}
	for name, value := range q.Choices {
		pairs = append(pairs, name, value)
	}
	return page.WithQuery(m.path, pairs...)
}

// show sets what all lists show of a page. Of a condition that cannot be evaluated it shows the problem, and the
// facets without it.
func (m *listModel) show(ctx context.Context, in query.List) error {
	p, err := in.Page(ctx, m.Query)
	if bad := (*query.WhereError)(nil); errors.As(err, &bad) {
		if m.Problem = bad.Err.Error(); bad.Place != "" {
			m.Problem = fmt.Sprintf("it fails for %s: %s", bad.Place, m.Problem)
		}
		all := m.Query
		all.Where = ""
		p, err = in.Page(ctx, all)
		p = &query.Page{Page: 1, Pages: 1, Facets: p.Facets}
	}
	if err != nil {
		return err
	}
	m.Page = p
	to := func(page int) string {
		q := m.Query
		q.Page = page
		return m.url(q)
	}
	if p.Page > 1 {
		m.First, m.Prev = to(1), to(p.Page-1)
	}
	if p.Page < p.Pages {
		m.Last, m.Next = to(p.Pages), to(p.Page+1)
	}
	m.Hidden = maps.Clone(m.Query.Choices)
	if sort := m.Query.Order.String(); sort != "" {
		m.Hidden["sort"] = sort
	}
	return nil
}

// FacetName returns what the page calls a facet.
func (m *listModel) FacetName(f query.Facet) string {
	return cmp.Or(facetLabels[f.Name], strings.TrimPrefix(f.Name, query.ComponentColumn("")))
}

// FacetURL returns the URL of the list with a choice, or without it if it is chosen.
func (m *listModel) FacetURL(f query.Facet, value string) string {
	q := m.Query
	q.Page, q.Choices = 0, maps.Clone(q.Choices)
	if q.Choices[f.Name] = value; value == f.Chosen {
		q.Choices[f.Name] = ""
	}
	return m.url(q)
}

// head adds the head of a column. The first click sorts numbers from the greatest,
// texts from the least; the next turns the order.
func (m *listModel) head(name, column string, words bool) {
	q := m.Query
	q.Page, q.Order = 0, query.Order{By: column, Descending: !words}
	h := head{Name: name, Words: words}
	if m.Query.Order.By == column {
		h.Sorted = map[bool]string{false: "ascending", true: "descending"}[m.Query.Order.Descending]
		q.Order.Descending = !m.Query.Order.Descending
	}
	h.URL = m.url(q)
	m.Heads = append(m.Heads, h)
}

func count(n int32) string { return strconv.Itoa(int(n)) }
