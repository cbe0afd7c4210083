package s3test

import (
	"io"
	"net/http"
	"strings"
)

// Counts are requests and the bytes of their bodies, as they would be billed.
type Counts struct {
	Get, Head, Put, Part, List, Delete, Other int
	BytesIn, BytesOut                         int64 // written to and read from the store
}

// Requests returns their sum.
func (c Counts) Requests() int {
	return c.Get + c.Head + c.Put + c.Part + c.List + c.Delete + c.Other
}

// Counts returns the counts since the start or the last Reset.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Reset sets all counts to zero.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = Counts{}
}

func (s *Server) count(r *http.Request, m *metered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counts
	ofObject := strings.Count(strings.Trim(r.URL.Path, "/"), "/") > 0
	switch {
	case r.Method == http.MethodGet && ofObject:
		c.Get++
	case r.Method == http.MethodGet:
		c.List++
	case r.Method == http.MethodHead:
		c.Head++
	case r.Method == http.MethodPut && IsPart(r):
		c.Part++
	case r.Method == http.MethodPut:
		c.Put++
	case r.Method == http.MethodDelete:
		c.Delete++
	default:
		c.Other++
	}
	c.BytesIn += m.in.n
	c.BytesOut += m.out
}

// metered counts the bytes of a request and its response.
type metered struct {
	http.ResponseWriter
	in  *counted
	out int64
}

func (m *metered) Write(p []byte) (int, error) {
	n, err := m.ResponseWriter.Write(p)
	m.out += int64(n)
	return n, err
}

type counted struct {
	io.ReadCloser
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += int64(n)
	return n, err
}
