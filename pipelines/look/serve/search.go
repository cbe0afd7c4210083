package serve

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/search"
)

const (
	usualFinds = 100 // of a page; a request may say how many
	maxFinds   = 1000

	searchEvery = 500 * time.Millisecond // between two reports of progress
	searchIdle  = time.Minute            // in which the browser must take a report
)

// searchModel is the page of a search. Its finds and its progress are sent while it
// goes on.
type searchModel struct {
	Frame
	Pairs  map[string]string // parameters that say what is searched: a dataset, a run, or neither
	Text   string
	Regexp bool
	Limit  int
}

// searchMark divides the page's template into what is sent before the finds and after them.
const searchMark = `<template id="finds"></template>`

// searched returns the datasets that a request names: one, those of a run, or all; and how its page is called.
func (s *Server) searched(ctx context.Context, q url.Values) (m *searchModel, entries []*catalogue.Entry, err error) {
	if q.Has("d") {
		f, err := s.lookup(ctx, q.Get("d"))
		if err != nil {
			return nil, nil, err
		}
		return &searchModel{Frame: Frame{Title: "Search in " + f.Key, Trail: s.trailOf(f)}, Pairs: map[string]string{"d": f.Key}}, []*catalogue.Entry{f}, nil
	}
	l, err := s.datasets.List(ctx)
	m = &searchModel{}
	if err == nil && q.Has("run") {
		l, err = named(l, q.Get("run"))
		m.Pairs = map[string]string{"run": q.Get("run")}
	}
	if err != nil {
		return nil, nil, err
	}
	m.Title, m.Trail = "Search in "+cmp.Or(l.Run, s.name()), s.trail(l.Run)
	return m, l.Entries, nil
}

// searchPage searches the texts of datasets and sends what it finds at once. Closing
// the request ends the search.
func (s *Server) searchPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	m, entries, err := s.searched(r.Context(), q)
	if err != nil {
		return err
	}
	m.Text, m.Regexp = q.Get("q"), q.Get("regexp") != ""
	if m.Limit, err = countOf(r, "limit"); err != nil {
		return err
	}
	m.Limit = min(cmp.Or(m.Limit, usualFinds), maxFinds)
	o := search.Options{Limit: m.Limit, Open: s.open}
	if o.Pattern, err = search.NewPattern(m.Text, m.Regexp); m.Text != "" && err != nil {
		return err
	}
	var page bytes.Buffer
	if err := s.templates["search"].Execute(&page, m); err != nil {
		return err
	}
	before, after, _ := strings.Cut(page.String(), searchMark)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, before)
	if m.Text != "" {
		s.search(w, r, entries, o)
	}
	_, _ = io.WriteString(w, after)
	return nil // the page has begun: an error is part of it
}

// search sends the finds, and now and then the progress. A browser that is gone, or takes nothing
// for too long, ends the request's context.
func (s *Server) search(w http.ResponseWriter, r *http.Request, entries []*catalogue.Entry, o search.Options) {
	send := func(name string, of any) { _ = s.templates["search"].ExecuteTemplate(w, name, of) }
	control := http.NewResponseController(w)
	last := time.Time{}
	o.Report = func(so *search.Result, found *search.Hit) {
		if found != nil {
			send("find", found)
		} else if now := time.Now(); now.Sub(last) >= searchEvery {
			last = now
			send("progress", so)
			_ = control.Flush()
			_ = control.SetWriteDeadline(now.Add(searchIdle))
		}
	}
	_ = s.openAll(r.Context(), entries) // at once
	result, _ := search.Run(r.Context(), entries, o)
	send("ended", result)
}
