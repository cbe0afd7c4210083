package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/query"
)

// segment returns an element of the request's path as it was given to link.
func segment(r *http.Request, name string) string {
	return strings.TrimPrefix(r.PathValue(name), "~")
}

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

// Crumb is a link to a page above.
type Crumb struct{ Name, URL string }

// trail returns the way to a page directly below a run.
func (s *Server) trail(run string) []Crumb {
	out := []Crumb{{s.name(), "/"}}
	if run != "" {
		out = append(out, Crumb{run, page.Link("r", run)})
	}
	return out
}

// epochLink returns the path of an epoch's page.
func epochLink(run string, epoch int) string {
	if run == "" {
		return page.Link("e", epoch)
	}
	return page.Link("r", run, "e", epoch)
}

// trailOf returns the way to a page of a dataset: the run, its epoch, the dataset.
func (s *Server) trailOf(f *catalogue.Entry) []Crumb {
	out := s.trail(f.Run)
	if f.Epoch >= 0 {
		out = append(out, Crumb{fmt.Sprintf("epoch %d", f.Epoch), epochLink(f.Run, f.Epoch)})
	}
	return append(out, Crumb{f.Stage, linkOf(f)})
}

// linkOf returns the path of a dataset's page.
func linkOf(f *catalogue.Entry) string {
	if f.Live() {
		return page.Link("d", f.Key, "live")
	}
	return page.Link("d", f.Key)
}
