package backendtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
)

// replies answers the requests of one execution in turn, with the parts of a text
// over and over, up to most of them.
type replies struct {
	status int
	parts  [][]byte
	asked  int
}

// maxRequests is more requests than resolving one submission takes, however many pages
// a service claims to have.
const maxRequests = 2000

func (s *replies) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	body := s.parts[s.asked%len(s.parts)]
	s.asked++
	return &http.Response{StatusCode: s.status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)),
		Request: r}, nil
}

// codes are those that are not retried, which would take time.
var codes = []int{200, 201, 204, 301, 400, 401, 404, 409, 422}

// FuzzAnswers feeds a trainer any answers of a service to Begin, Resolve and Status: a text is
// split at NUL bytes, and each request gets the next part. The trainer returns an outcome of a
// known state or an error of a bounded length, after a bounded number of requests. It has to use
// http.DefaultTransport. The token that is resolved is "token-1".
func FuzzAnswers(f *testing.F, fresh func() backends.Trainer, seeds ...string) {
	for _, text := range seeds {
		for code := range codes {
			f.Add(uint8(code), []byte(text))
		}
	}
	before := http.DefaultTransport
	f.Cleanup(func() { http.DefaultTransport = before })
	f.Fuzz(func(t *testing.T, code uint8, text []byte) {
		s := &replies{status: codes[int(code)%len(codes)], parts: bytes.Split(text, []byte{0})}
		http.DefaultTransport = s
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		tr := fresh()
		_, err := tr.Begin(ctx, nil)
		short(t, err)
		out, err := tr.Resolve(ctx, submission("token-1", backends.TrainerState{}))
		outcome(t, out, err)
		if status := tr.Describe().Status; status != nil {
			out, err := status(ctx, "job-1")
			outcome(t, out, err)
		}
		if s.asked > maxRequests {
			t.Fatalf("%d requests", s.asked)
		}
	})
}

var states = []string{"", backends.JobUnknown, receipts.JobNothing, receipts.JobPending, receipts.JobRunning,
	receipts.JobCompleted, receipts.JobFailed, receipts.JobCancelled, receipts.JobUntrained}

func outcome(t *testing.T, out backends.Outcome, err error) {
	short(t, err)
	if !slices.Contains(states, out.State) || out.Clean && out.State != receipts.JobFailed {
		t.Fatalf("%+v, %v", out, err)
	}
}

func short(t *testing.T, err error) {
	if err != nil && len(err.Error()) > 16<<10 {
		t.Fatalf("an error of %d bytes", len(err.Error()))
	}
}
