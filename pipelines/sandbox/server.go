package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
)

// Server is the sandbox. It is safe for concurrent use. Make one with New and
// Close it, or let Serve do so.
type Server struct {
	opts    Options
	routes  map[string]map[string]http.HandlerFunc // by path and method
	base    *policy                                // untrained
	traffic *traffic
	counts  *counts
	lock    *os.File

	beforeCommit func() // of tests; nil

	mu     sync.Mutex // guards models
	models map[modelKey]*model

	close func() error
}

// New reads the state in opts.Dir, if any, and returns a server that is ready.
// A directory serves one process at a time.
func New(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	s := &Server{opts: opts, base: newPolicy(opts.Hidden, opts.Seed), traffic: newTraffic(), models: map[modelKey]*model{}}
	s.close = sync.OnceValue(s.closeFiles)
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the sandbox %q: %w", opts.Dir, err), s.closeFiles())
	}
	s.routes = s.control()
	maps.Copy(s.routes, map[string]map[string]http.HandlerFunc{
		"/v1/models":           {http.MethodGet: s.listModels},
		"/v1/chat/completions": {http.MethodPost: s.chat},
		"/_rollmill/training":  {http.MethodGet: s.training},
		"/_rollmill/counts":    {http.MethodGet: s.showCounts},
	})
	return s, nil
}

func (s *Server) open() (err error) {
	if s.opts.Dir != "" {
		if err := os.MkdirAll(s.opts.Dir, 0o777); err != nil {
			return err
		}
		if s.lock, err = lockDir(s.opts.Dir); err != nil {
			return err
		}
	}
	if s.counts, err = openCounts(s.opts.Dir); err != nil {
		return err
	}
	return s.restore()
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	methods, known := s.routes[r.URL.Path]
	if !known {
		writeDetail(w, http.StatusNotFound, "Not Found")
		return
	}
	handle, allowed := methods[r.Method]
	if !allowed {
		writeDetail(w, http.StatusMethodNotAllowed, "Method Not Allowed")
		return
	}
	if strings.HasPrefix(r.URL.Path, "/v1/") && s.opts.APIKey != "" &&
		r.Header.Get("Authorization") != "Bearer "+s.opts.APIKey {
		newAPIError(http.StatusUnauthorized, "invalid_request_error", "", "invalid_api_key",
			"Incorrect API key provided.").write(w)
		return
	}
	handle(w, r)
}

// Close closes the files. Committed state stays.
func (s *Server) Close() error { return s.close() }

func (s *Server) closeFiles() error {
	var err error
	if s.counts != nil {
		err = s.counts.close()
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}
