// Package serve serves a run, or a folder of runs, as pages for a browser on this machine: the
// run, its epochs, datasets, groups and trajectories, and a rollout under way. It only reads:
// it takes no lock, and writes nothing under the run.
//
// A page is a line in routes.go, a function that returns the page's model, and a
// template of the route's name in templates. Every state of a page is in its URL, and
// every page works without JavaScript.
//
// Trajectories are untrusted text. security.go keeps others out: it allows loopback
// only, requires a token, and checks the Host and Origin headers. Its policy lets no
// page run a script or send a request that is not the server's own. Only what
// package catalogue found below the run's root can be opened.
//
// Decisions. Plots are the SVG images of package plot; no plotting library runs in
// the browser. They are the same figures as in the report, need no script, and follow
// the colours of the page. htmx replaces parts of a page, for a rollout under way
// and for texts in lists: it is one file of 52 kB, without a build step. keys.js and
// reading.js are ours. goldmark renders Markdown on the server, where tests can look at
// what comes out; a sanitizer in the browser would be one more script to trust. Links in
// data are text: a click on one would tell its host what is being read.
package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/kept"
	"github.com/rollmill/rollmill/pipelines/look/live"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/plot"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/look/show"
	"github.com/rollmill/rollmill/storage"
)

// Options select what is served.
type Options struct {
	Root   string // URI of a run, of an epoch's folder or of a dataset
	Prices history.Prices
	Log    *slog.Logger
}

// Server serves the pages of one root.
type Server struct {
	root      string
	bucket    *storage.Bucket
	log       *slog.Logger
	token     string
	datasets  catalogue.Catalogue
	indexes   *query.Cache
	histories *kept.Values[found[map[int]history.Epoch]] // by the run and the time of its report
	epochs    *kept.Values[history.Epoch]                // as manifests have them, by the keys and times of these
	openings  *kept.Values[found[*dataset.Dataset]]      // by key and time
	stops     *kept.Values[[]page.Counted]               // by the digest of a rollout
	lists     *kept.Values[[]*history.GroupList]         // by the digest of groups
	views     *kept.Values[show.View]                    // by the digest of a dataset
	tasks     *kept.Values[[]string]                     // of two rollouts, by their digests
	figures   *kept.Values[plot.FigureView]              // by the report of their run
	journals  *kept.Values[*live.Journal]                // by key
	snapshots *kept.Values[*dataset.Dataset]             // in memory, of rollouts under way
	prices    history.Prices
	static    page.Assets
	templates map[string]*template.Template // by route
}

// New returns a server for a root. It lists what is there once; nothing there is an
// error.
func New(ctx context.Context, o Options) (*Server, error) {
	bucket, err := storage.Open(ctx, o.Root)
	if err != nil {
		return nil, err
	}
	s := &Server{root: o.Root, prices: o.Prices, bucket: bucket, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		token: rand.Text(), static: page.Embedded(),
		histories: kept.New[found[map[int]history.Epoch]](128), epochs: kept.New[history.Epoch](1 << 17),
		openings: kept.New[found[*dataset.Dataset]](512), stops: kept.New[[]page.Counted](256), tasks: kept.New[[]string](256), views: kept.New[show.View](256),
		lists: kept.New[[]*history.GroupList](256), figures: kept.New[plot.FigureView](8), journals: kept.New[*live.Journal](4),
		snapshots: kept.New[*dataset.Dataset](maxSnapshots)}
	s.snapshots.Dropped = remove
	s.indexes = query.NewCache(ctx, maxIndexes, s.datasets.LastWritten)
	s.datasets = catalogue.Catalogue{Root: o.Root, Bucket: bucket}
	if s.templates, err = s.parse(); err != nil {
		return nil, err
	}
	if _, err := s.datasets.List(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Link returns the URL that opens the viewer: its token lets a browser in.
func (s *Server) Link(l net.Listener) string {
	return fmt.Sprintf("http://%s/?%s=%s", l.Addr(), tokenParameter, s.token)
}

// Times that bound a request. A page that streams extends the last one.
const (
	headerTime = 5 * time.Second
	pageTime   = time.Minute
)

// Serve answers requests until ctx ends, and then returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	web := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       headerTime,
		IdleTimeout:       pageTime,
		MaxHeaderBytes:    maxHeaders,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx }, // streams end with it
	}
	done := make(chan error, 1)
	go func() { done <- web.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serving the viewer: %w", err)
	case <-ctx.Done():
	}
	web.Close()
	<-done
	return nil
}
