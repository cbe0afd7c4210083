package serve

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/query"
)

// countOf returns a parameter that counts from 0.
func countOf(r *http.Request, name string) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, wrong("it counts from 0", "parameter %s is %q, which is no number", name, text)
	}
	return int(n), nil
}

// plainText is the parameter text of pages that show Markdown as it is.
const plainText = "plain"

// otherText returns a page's path with the other value of text.
func otherText(r *http.Request, path string, pairs ...any) string {
	if r.FormValue("text") != plainText {
		pairs = append(pairs, "text", plainText)
	}
	return listed(r, path, pairs...)
}

// zero returns a number for a query, "" for 0.
func zero(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// listState are the parameters of a list, besides its facets, that pages of its rows pass on.
var listState = []string{"sort", "where", "page"}

// listed returns a path with further parameters and the state of the list from which
// the reader came.
func listed(r *http.Request, path string, pairs ...any) string {
	for name := range r.URL.Query() {
		if slices.Contains(listState, name) || query.IsFacet(name) {
			pairs = append(pairs, name, r.FormValue(name))
		}
	}
	return page.WithQuery(path, pairs...)
}
