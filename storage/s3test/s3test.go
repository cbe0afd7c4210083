// Package s3test serves S3's protocol from memory over a real socket, for tests
// of code that reads and writes object stores. It counts requests and injects
// faults: see Faults.
//
// The objects are gofakes3's. This package adds what that lacks: conditions on
// the completion of a multipart upload.
package s3test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	_ "github.com/rollmill/rollmill/storage/stores" // so that its URIs can be opened
)

// Bucket is the name of the bucket that every server has.
const Bucket = "test"

// A Server is one object store.
type Server struct {
	URL string // http://127.0.0.1:PORT

	backend *s3mem.Backend
	objects http.Handler
	writing sync.Mutex // a condition is checked and the object written without interruption

	mu     sync.Mutex
	faults Faults
	asked  map[string]int // how often each request was made, for the random choice of faults
	counts Counts
	failed int
	onAny  func(*http.Request)
}

// Start serves an empty bucket until the test ends, and sets credentials in the
// process's environment, which the server does not check.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{asked: map[string]int{}}
	s.backend = s3mem.New(s3mem.WithTimeSource(clock{s}))
	if err := s.backend.CreateBucket(Bucket); err != nil {
		t.Fatal(err)
	}
	s.objects = gofakes3.New(s.backend, gofakes3.WithTimeSource(clock{s}), gofakes3.WithTimeSkewLimit(0)).Server()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	if t, ok := t.(interface{ Setenv(key, value string) }); ok {
		t.Setenv("AWS_ACCESS_KEY_ID", "fake")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "fake")
	}
	return s
}

// URI returns the address of a prefix in the bucket.
func (s *Server) URI(prefix string) string {
	q := url.Values{"endpoint": {s.URL}, "region": {"us-east-1"}, "use_path_style": {"true"}}
	return "s3://" + Bucket + "/" + prefix + "?" + q.Encode()
}

// Uploads returns how many multipart uploads were started and neither completed
// nor aborted.
func (s *Server) Uploads() int {
	w := httptest.NewRecorder()
	s.objects.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+Bucket+"?uploads", nil))
	return strings.Count(w.Body.String(), "<Upload>")
}

// OnRequest calls f with every request before it is processed.
func (s *Server) OnRequest(f func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onAny = f
}

// IsPart reports whether a request sends a part of a multipart upload.
func IsPart(r *http.Request) bool { return r.URL.Query().Has("partNumber") }

// DropBucket removes the bucket with everything in it.
func (s *Server) DropBucket() error { return s.backend.ForceDeleteBucket(Bucket) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	meter := &metered{ResponseWriter: w, in: &counted{ReadCloser: r.Body}}
	r.Body = meter.in
	s.mu.Lock()
	f := s.onAny
	s.mu.Unlock()
	if f != nil {
		f(r)
	}
	fault := s.roll(r)
	defer func() { s.count(r, meter) }()
	fault.serve(meter, r, s.serve)
}

// serve answers as S3 does.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if status, code := s.denies(r); code != "" {
		refuse(w, status, code)
		return
	}
	f := s.Faults()
	if f.IgnoreConditions {
		r.Header.Del("If-None-Match")
	}
	if f.IgnoreConditions || f.IgnoreVersions {
		r.Header.Del("If-Match")
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead || IsPart(r) {
		s.objects.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body) // before the lock: a client that stops while it sends does not block others
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.writing.Lock()
	defer s.writing.Unlock()
	if r.URL.Query().Has("uploadId") && r.Method == http.MethodPost && !s.meets(r) {
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	s.objects.ServeHTTP(w, r)
}

// meets reports whether the object is as the conditions of a request demand.
func (s *Server) meets(r *http.Request) bool {
	etag, exists := s.version(r.URL.Path)
	want := r.Header.Get("If-Match")
	return (r.Header.Get("If-None-Match") != "*" || !exists) && (want == "" || want == etag)
}

func (s *Server) version(path string) (etag string, exists bool) {
	w := httptest.NewRecorder()
	s.objects.ServeHTTP(w, httptest.NewRequest(http.MethodHead, (&url.URL{Path: path}).String(), nil))
	return w.Header().Get("ETag"), w.Code == http.StatusOK
}
