package serve

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"

	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// route is a page. Either page returns the model of the template that has the
// route's name, or raw writes the response itself, with that template if it has a name.
type route struct {
	path string
	name string
	page func(*Server, *http.Request) (any, error)
	raw  func(*Server, http.ResponseWriter, *http.Request) error

	streams bool // takes as long as the browser waits
}

// routes are all pages. Every parameter that is not in the path is in the query.
var routes = []route{
	{path: "/{$}", name: "run", page: (*Server).runPage},
	{path: "/runs", name: "runs", page: (*Server).runsPage},
	{path: "/compare", name: "compare", page: (*Server).comparePage},
	{path: "/r/{run}", name: "run", page: (*Server).runPage},
	{path: "/r/{run}/e/{epoch}", name: "epoch", page: (*Server).epochPage},
	{path: "/r/{run}/e/{epoch}/live", name: "live", page: (*Server).livePage},
	{path: "/e/{epoch}", name: "epoch", page: (*Server).epochPage},
	{path: "/e/{epoch}/live", name: "live", page: (*Server).livePage},
	{path: "/d/{key}/live", name: "live", page: (*Server).livePage},
	{path: "/d/{key}", name: "dataset", page: (*Server).datasetPage},
	{path: "/d/{key}/groups", name: "list", page: (*Server).groupsPage},
	{path: "/d/{key}/trajectories", name: "list", page: (*Server).trajectoriesPage},
	{path: "/diff", name: "diff", page: (*Server).diffPage},
	{path: "/search", name: "search", raw: (*Server).searchPage, streams: true},
	{path: "/d/{key}/g/{group}", name: "group", page: (*Server).groupPage},
	{path: "/d/{key}/t/{id}", name: "trajectory", page: (*Server).trajectoryPage},
	{path: "/d/{key}/t/{id}/message/{n}", name: "message", page: (*Server).messagePage},
	{path: "/d/{key}/t/{id}/raw", raw: (*Server).rawPage},
}

// Frame is what the layout shows around a page. Every model embeds one.
type Frame struct {
	Title string
	Trail []Crumb // from the run to the page above this one
	Next  string  // URL of the next page of the same kind, for the keys [ and ]
	Prev  string
}

//go:embed templates
var templateFiles embed.FS

// parse returns the template of each route: the layout with the page's blocks.
func (s *Server) parse() (map[string]*template.Template, error) {
	layout, err := page.Templates(template.FuncMap{"asset": s.static.URL, "link": page.Link, "open": linkOf, "query": page.WithQuery,
		"since": text.Since, "sorted": page.Sorted, "json": asJSON,
		"value": func(v float64) string { return text.Number(notNaN(v)) }})
	if err == nil {
		layout, err = layout.ParseFS(templateFiles, "templates/frame.html")
	}
	if err != nil {
		return nil, err
	}
	out := map[string]*template.Template{}
	for _, r := range append(routes, route{name: "error"}, route{name: "enter"}) {
		if r.name == "" {
			continue
		}
		t, err := layout.Clone()
		if err == nil {
			t, err = t.ParseFS(templateFiles, "templates/"+r.name+".html")
		}
		if err != nil {
			return nil, err
		}
		out[r.name] = t
	}
	return out, nil
}

// serve returns the handler of a route.
func (s *Server) serve(r route) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if !r.streams {
			ctx, cancel := context.WithTimeout(req.Context(), pageTime)
			defer cancel()
			req = req.WithContext(ctx)
		}
		defer func() {
			if p := recover(); p != nil { // its fault alone: the connection and other pages go on
				s.fail(w, req, fmt.Errorf("the page failed: %v", p))
			}
		}()
		var model any
		var err error
		if r.raw != nil {
			err = r.raw(s, w, req)
		} else if model, err = r.page(s, req); err == nil {
			err = s.render(w, r.name, http.StatusOK, model)
		}
		if err != nil {
			s.fail(w, req, err)
		}
	}
}

// render writes a page, or nothing if its template fails.
func (s *Server) render(w http.ResponseWriter, name string, status int, model any) error {
	var page bytes.Buffer
	if err := s.templates[name].Execute(&page, model); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if _, err := w.Write(page.Bytes()); err != nil {
		s.log.Debug("the browser did not take the page", "error", err)
	}
	return nil
}
