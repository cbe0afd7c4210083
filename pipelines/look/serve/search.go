package serve

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/query"
)

const (
	maxFinds  = 500  // of a page; more are on the next
	maxSought = 1000 // bytes of a text that is looked for

	searchEvery = 500 * time.Millisecond // between two reports of progress
	searchIdle  = time.Minute            // in which the browser must take a report
)

// searchModel is the page of a search. Its finds and its progress are sent while it
// goes on.
type searchModel struct {
	Frame
	Key  string
	Text string
	From int64
	Rows int64
}

// searchEvent is a piece of the page that is sent during a search.
type searchEvent struct {
	Key   string
	Rows  int64 // of the dataset
	Done  int64 // rows
	Finds int
	Next  string // URL of the search that goes on, if it ended early
	Error string
	*query.Find
}

// Found returns how many finds there are.
func (e searchEvent) Found() string { return plural.Of(e.Finds, "find") }

// searchMark divides the page's template into what is sent before the finds and after
// them.
const searchMark = `<template id="finds"></template>`

// searchPage searches the texts of a dataset and sends what it finds at once. Closing
// the request ends the search.
func (s *Server) searchPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f, err := s.lookup(r.Context(), q.Get("d"))
	if err != nil {
		return err
	}
	d, err := s.open(r.Context(), f)
	if err != nil {
		return err
	}
	base, err := d.OpenBase(r.Context())
	if err != nil {
		return err
	}
	m := &searchModel{Frame: Frame{Title: f.Stage + ": search", Trail: s.trailOf(f)}, Key: f.Key, Text: q.Get("q"),
		Rows: base.Rows}
	if len(m.Text) > maxSought {
		return wrong("shorten it", "the text to look for has %d bytes, more than %d", len(m.Text), maxSought)
	}
	if from := q.Get("from"); from != "" {
		if m.From, err = strconv.ParseInt(from, 10, 64); err != nil || m.From < 0 || m.From > m.Rows {
			return wrong("rows count from 0", "no row %q", from)
		}
	}
	var page bytes.Buffer
	if err := s.templates["search"].Execute(&page, m); err != nil {
		return err
	}
	before, after, _ := strings.Cut(page.String(), searchMark)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, before)
	if m.Text != "" {
		s.search(w, r, m, base)
	}
	_, _ = io.WriteString(w, after)
	return nil // the page has begun: an error is part of it
}

// search sends the finds, and now and then the progress. A browser that is gone, or takes nothing
// for too long, ends the request's context.
func (s *Server) search(w http.ResponseWriter, r *http.Request, m *searchModel, base *dataset.Dataset) {
	e := searchEvent{Key: m.Key, Rows: m.Rows, Done: m.From}
	send := func(name string) { _ = s.templates["search"].ExecuteTemplate(w, name, e) }
	control := http.NewResponseController(w)
	flush := func() {
		_ = control.Flush()
		_ = control.SetWriteDeadline(time.Now().Add(searchIdle))
	}
	flush()
	last := time.Time{}
	err := query.Search(r.Context(), base, m.Text, m.From, func(f query.Find) bool {
		if e.Finds == maxFinds {
			e.Done = f.Row
			e.Next = page.WithQuery("/search", "d", m.Key, "q", m.Text, "from", f.Row)
			return false
		}
		e.Finds++
		e.Find = &f
		send("find")
		return r.Context().Err() == nil
	}, func(rows int64) bool {
		e.Done = rows
		if now := time.Now(); now.Sub(last) >= searchEvery || rows == m.Rows {
			last = now
			send("progress")
			flush()
		}
		return r.Context().Err() == nil
	})
	if err != nil && r.Context().Err() == nil {
		e.Error = err.Error()
	}
	send("ended")
}
