package s3test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// Faults say what goes wrong. Which requests are affected is a function of the
// seed, the request and how often it was made; the shares add up to at most 1.
type Faults struct {
	Seed    int64
	Refused float64       // share answered by 503 SlowDown, without effect
	Cut     float64       // share for which half the body is read, or half the response sent, and then the connection closed
	Lost    float64       // share that is executed, but the connection is closed instead of a response
	Slow    float64       // share answered late
	Latency time.Duration // how late
	Silent  float64       // share that gets no response and has no effect, while the client waits

	Denied       string // the code with which every request is refused permanently, "" for none
	DeniedStatus int    // its status
	DeniedOnce   bool   // only the first time that a request is made

	LostCompletions int // this many multipart uploads are completed, but the connection is closed instead of a response

	NoChecksums bool // requests with S3's newer checksums are refused, as stores do that do not know them

	IgnoreConditions bool // writes replace existing objects, whatever the request's conditions
	IgnoreVersions   bool // writes replace existing objects, whatever version the request names

	Ahead time.Duration // how far the store's clock is ahead of this process's
}

// clock gives objects their times.
type clock struct{ s *Server }

func (c clock) Now() time.Time                  { return time.Now().Add(c.s.Faults().Ahead) }
func (c clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// SetFaults changes the faults from now on.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Faults returns the present faults.
func (s *Server) Faults() Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults
}

// Failed returns how many requests were affected by faults.
func (s *Server) Failed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// denies reports whether a request is refused, and with which status and code.
func (s *Server) denies(r *http.Request) (status int, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults.NoChecksums {
		for header := range r.Header {
			if strings.HasPrefix(header, "X-Amz-Checksum-") || header == "X-Amz-Trailer" {
				return http.StatusNotImplemented, "NotImplemented: header '" + strings.ToLower(header) + "' not implemented"
			}
		}
	}
	name := "denied " + r.Method + " " + r.URL.RequestURI()
	s.asked[name]++
	if s.faults.Denied == "" || s.faults.DeniedOnce && s.asked[name] > 1 {
		return 0, ""
	}
	return s.faults.DeniedStatus, s.faults.Denied
}

type fault int

const (
	none fault = iota
	refused
	cut
	lost
	silent
)

// roll chooses the fault of a request, and delays a slow one.
func (s *Server) roll(r *http.Request) fault {
	s.mu.Lock()
	f := s.faults
	name := r.Method + " " + r.URL.RequestURI() + " " + r.Header.Get("Range")
	chance := dice(f.Seed, name, s.asked[name])
	s.asked[name]++
	hit := none
	completes := r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
	switch {
	case completes && f.LostCompletions > 0:
		s.faults.LostCompletions--
		hit = lost
	case chance < f.Refused:
		hit = refused
	case chance < f.Refused+f.Cut:
		hit = cut
	case chance < f.Refused+f.Cut+f.Lost:
		hit = lost
	case chance >= 1-f.Silent:
		hit = silent
	}
	if hit != none {
		s.failed++
	}
	slow := hit == none && chance < f.Refused+f.Cut+f.Lost+f.Slow
	s.mu.Unlock()
	if slow {
		time.Sleep(f.Latency)
	}
	return hit
}

// serve answers a request according to the fault.
func (f fault) serve(w http.ResponseWriter, r *http.Request, answer http.HandlerFunc) {
	switch f {
	case none:
		answer(w, r)
	case refused:
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
	case silent:
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client has gone
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case lost:
		body, err := io.ReadAll(r.Body)
		if err == nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
			answer(httptest.NewRecorder(), r)
		}
		panic(http.ErrAbortHandler)
	case cut:
		if r.Method != http.MethodGet {
			_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
			panic(http.ErrAbortHandler)
		}
		whole := httptest.NewRecorder()
		answer(whole, r)
		for k, v := range whole.Header() {
			w.Header()[k] = v
		}
		w.Header().Set("Content-Length", fmt.Sprint(whole.Body.Len()))
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		panic(http.ErrAbortHandler)
	}
}

// refuse answers as S3 does when it refuses a request.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>refused</Message></Error>`, code)
}

// dice returns a number in [0, 1).
func dice(seed int64, name string, nth int) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %q %d", seed, name, nth)
	n := h.Sum64()
	n = (n ^ n>>33) * 0xff51afd7ed558ccd // FNV's high bits alone are not random enough
	n = (n ^ n>>33) * 0xc4ceb9fe1a85ec53
	return float64((n^n>>33)>>11) / (1 << 53)
}
