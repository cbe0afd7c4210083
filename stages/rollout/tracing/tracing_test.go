package tracing

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// collector is a receiver of OTLP that counts spans.
type collector struct {
	mu       sync.Mutex
	requests int
	spans    int
	header   http.Header
	answer   func(n int, w http.ResponseWriter) // of the nth request; nil: 200
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c.mu.Lock()
	c.requests++
	n := c.requests
	c.header = r.Header
	c.mu.Unlock()
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "no such service", http.StatusNotFound)
		return
	}
	taken := httptest.NewRecorder()
	if c.answer != nil {
		c.answer(n, taken)
	}
	if taken.Code == http.StatusOK {
		resource, _ := protowire.ConsumeBytes(values(body, 1)[0])
		scope, _ := protowire.ConsumeBytes(values(resource, 2)[0])
		c.mu.Lock()
		c.spans += len(values(scope, 2))
		c.mu.Unlock()
	}
	w.WriteHeader(taken.Code)
	_, _ = w.Write(taken.Body.Bytes())
}

// values are the encoded values of a field.
func values(b []byte, want protowire.Number) (out [][]byte) {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		b = b[size:]
		size = protowire.ConsumeFieldValue(n, kind, b)
		if n == want {
			out = append(out, b[:size])
		}
		b = b[size:]
	}
	return out
}

// rows returns trajectories and the number of their spans.
func rows(t *testing.T) (out []formats.Trajectory, spans int) {
	t.Helper()
	for group := range randomtest.Trajectories(1, randomtest.Options{Groups: 8, Generations: 4, SampledTokens: 50}) {
		out = append(out, group...)
	}
	for i := range out {
		spans += 1 + len(out[i].Calls)
		for _, m := range out[i].Messages {
			if m.Role == "tool" {
				spans++
			}
		}
	}
	return out, spans
}

// sender returns one to a collector, and what it logs.
func sender(t *testing.T, h http.Handler) (*Sender, *bytes.Buffer) {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	log := &bytes.Buffer{}
	s, err := New(&Settings{Mode: Content, endpoint: web.URL, headers: "x-key=top%20secret", service: "mine", resource: "team=a"},
		slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

func TestSends(t *testing.T) {
	c := &collector{}
	s, log := sender(t, c)
	list, spans := rows(t)
	for _, row := range list {
		s.Add(row)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if c.spans != spans || s.dropped+s.lost != 0 || c.header.Get("x-key") != "top secret" {
		t.Errorf("%d of %d spans, header %q:\n%s", c.spans, spans, c.header.Get("x-key"), log)
	}
	s.Add(list[0]) // after the end: nothing happens
	if err := s.Close(); err != nil || c.spans != spans {
		t.Errorf("closed twice: %d spans, %v", c.spans, err)
	}
}

// TestRepeats: a collector that is busy gets every span in the end.
func TestRepeats(t *testing.T) {
	c := &collector{answer: func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}}
	s, log := sender(t, c)
	list, spans := rows(t)
	for _, row := range list {
		s.Add(row)
	}
	_ = s.Close()
	if c.spans != spans || s.lost != 0 || strings.Contains(log.String(), "WARN") {
		t.Errorf("%d of %d spans in %d requests:\n%s", c.spans, spans, c.requests, log)
	}
}

// TestRefused: a collector that refuses costs one warning, without its key, and one
// line with the count.
func TestRefused(t *testing.T) {
	c := &collector{answer: func(_ int, w http.ResponseWriter) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, "who is top secret?")
	}}
	s, log := sender(t, c)
	list, spans := rows(t)
	for _, row := range list {
		s.Add(row)
	}
	_ = s.Close()
	if n := strings.Count(log.String(), "level=WARN"); n != 2 || strings.Contains(log.String(), "top secret") || int(s.lost) != spans || s.sent != 0 {
		t.Errorf("%d warnings, %d of %d spans lost:\n%s", n, s.lost, spans, log)
	}
}

// TestPartial: spans that a collector did not take are counted.
func TestPartial(t *testing.T) {
	answer := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	answer = protowire.AppendString(protowire.AppendTag(answer, 2, protowire.BytesType), "too many")
	answer = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), answer)
	c := &collector{answer: func(_ int, w http.ResponseWriter) { _, _ = w.Write(answer) }}
	s, log := sender(t, c)
	list, spans := rows(t)
	for _, row := range list {
		s.Add(row)
	}
	_ = s.Close()
	if s.lost != int64(3*c.requests) || s.sent != int64(spans)-s.lost || !strings.Contains(log.String(), "too many") {
		t.Errorf("%d sent, %d lost in %d requests:\n%s", s.sent, s.lost, c.requests, log)
	}
}

// TestHangs: a collector that never answers blocks neither Add nor the end, memory is
// bounded, and every trajectory that was not sent is counted.
func TestHangs(t *testing.T) {
	defer func(before time.Duration) { parting = before }(parting)
	parting = 0
	blocked := make(chan struct{})
	s, log := sender(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-blocked }))
	list, _ := rows(t)
	for range 3 * maxQueued / len(list) {
		for _, row := range list {
			s.Add(row)
		}
	}
	if len(s.queue) > maxQueued || s.dropped == 0 {
		t.Errorf("%d wait, %d dropped", len(s.queue), s.dropped)
	}
	_ = s.Close()
	close(blocked)
	if s.sent != 0 || s.lost == 0 || !strings.Contains(log.String(), "trajectories_dropped="+fmt.Sprint(s.dropped)) {
		t.Errorf("%d sent, %d lost:\n%s", s.sent, s.lost, log)
	}
}

// TestBytes: what waits is bounded by bytes too.
func TestBytes(t *testing.T) {
	blocked := make(chan struct{})
	defer close(blocked)
	defer func(before time.Duration) { parting = before }(parting)
	parting = 0
	s, _ := sender(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-blocked }))
	big := formats.Trajectory{TrajectoryID: "t", Messages: []formats.Message{{Parent: -1, Call: -1, Content: strings.Repeat("x", maxBytes/4)}}}
	for range 10 {
		s.Add(big)
	}
	s.mu.Lock()
	if s.bytes > maxBytes || s.dropped < 4 {
		t.Errorf("%d bytes wait, %d trajectories are dropped", s.bytes, s.dropped)
	}
	s.mu.Unlock()
	_ = s.Close()
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		s    Settings
		url  string
		fail string
	}{
		{s: Settings{}, url: "http://localhost:4318/v1/traces"},
		{s: Settings{endpoint: "https://cloud.example/api/public/otel/"}, url: "https://cloud.example/api/public/otel/v1/traces"},
		{s: Settings{endpoint: "http://a", tracesEndpoint: "http://b/x"}, url: "http://b/x"},
		{s: Settings{endpoint: "localhost:4317"}, fail: "not an http URL"},
		{s: Settings{headers: "Basic abc"}, fail: "HEADERS"},
		{s: Settings{timeout: "10s"}, fail: "TIMEOUT"},
		{s: Settings{resource: "x"}, fail: "RESOURCE"},
	} {
		got, err := c.s.target()
		if err == nil {
			_, err = c.s.attributes()
		}
		if c.fail == "" && (err != nil || got.url != c.url) || c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)) {
			t.Errorf("%+v: %s, %v", c.s, got.url, err)
		}
	}
	s := Settings{service: "mine", resource: "service.name=other,team=a%2Cb", Version: "1.0"}
	list, err := s.attributes()
	var got []string
	for _, a := range list {
		got = append(got, fmt.Sprint(a.Key, "=", a.Value))
	}
	if want := []string{"service.name=mine", "service.version=1.0", "team=a,b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if s, err := New(&Settings{}, nil); s != nil || err != nil {
		t.Error("a sender without a mode")
	}
}
