package sandbox

import (
	"net/http"
	"sync"
)

// Server is the sandbox. It is safe for concurrent use; make one with New
// and Close it, or let Serve do so.
type Server struct {
	opts Options
	mux  *http.ServeMux

	stopping chan struct{} // closed when the server ends
	once     sync.Once
}

// New reads the state in opts.Dir, if any, and is ready to serve.
func New(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	s := &Server{opts: opts, mux: http.NewServeMux(), stopping: make(chan struct{})}
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close ends what hangs and closes the files. What was committed stays.
func (s *Server) Close() error {
	s.stop()
	return nil
}

func (s *Server) stop() { s.once.Do(func() { close(s.stopping) }) }
