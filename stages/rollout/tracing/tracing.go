// Package tracing sends traces of finished trajectories to a collector of
// OpenTelemetry while a rollout runs. What a trace is, formats/foreign/otel says.
//
// It cannot fail or slow a rollout: trajectories wait in a queue of bounded size, and
// those that do not fit are dropped. One goroutine sends them, with a few retries. The
// first error is logged as a warning, and what was dropped when the sender is closed.
//
// A rollout that continues after a crash sends no trace of the trajectories that were
// finished before. `rollmill export --to otel` writes those of all, with the same ids.
package tracing

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/otel"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/rollout"
)

const (
	maxQueued   = 1024     // trajectories
	maxBytes    = 64 << 20 // of their texts
	requestSize = 2 << 20  // bytes; a request ends with the span that exceeds it
	maxSpans    = 512      // of a request
	minSecret   = 8        // bytes; shorter values of headers are no keys
)

var parting = 5 * time.Second // for what is left when the rollout has ended; tests shorten it

// Sender sends traces. It is safe for concurrent use. A nil Sender sends nothing.
type Sender struct {
	target   target
	resource []otel.Attribute
	content  bool
	log      *slog.Logger
	client   remote.Client

	queue chan formats.Trajectory
	ctx   context.Context // ends the requests
	stop  context.CancelFunc
	done  chan struct{}

	mu      sync.Mutex
	closed  bool
	bytes   int64 // in the queue
	dropped int64 // trajectories that did not fit into the queue

	sent, lost int64 // spans; run has these
	warned     bool
}

// New returns a sender, or nil if the mode is "". An error is about the settings.
func New(s *Settings, log *slog.Logger) (*Sender, error) {
	if s.Mode == "" {
		return nil, nil
	}
	t, err := s.target()
	if err != nil {
		return nil, err
	}
	attributes, err := s.attributes()
	if err != nil {
		return nil, err
	}
	out := &Sender{target: t, resource: attributes, content: s.Mode == Content, log: log, queue: make(chan formats.Trajectory, maxQueued),
		done: make(chan struct{})}
	out.client = remote.Client{Name: "otel", Sign: func(r *http.Request) {
		for name, value := range t.header {
			r.Header.Set(name, value)
		}
	}}
	for _, value := range t.header {
		if len(value) >= minSecret {
			out.client.Secrets = append(out.client.Secrets, value)
		}
	}
	out.ctx, out.stop = context.WithCancel(context.Background())
	go out.run()
	return out, nil
}

// Add queues a trajectory, whose slices must not change any more. It never blocks.
func (s *Sender) Add(t formats.Trajectory) {
	if s == nil {
		return
	}
	size := int64(rollout.Weight(&t))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if s.bytes+size <= maxBytes || s.bytes == 0 {
		select {
		case s.queue <- t:
			s.bytes += size
			return
		default:
		}
	}
	s.dropped++
}

// Close sends what is queued, for a few seconds at most, and logs what was not sent.
// It returns no error.
func (s *Sender) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	close(s.queue)
	late := time.AfterFunc(parting, s.stop)
	<-s.done
	late.Stop()
	s.stop()
	if s.dropped+s.lost > 0 {
		s.log.Warn("some traces were not sent; export --to otel writes them", "trajectories_dropped", s.dropped, "spans_lost",
			s.lost, "spans_sent", s.sent)
	} else if s.sent > 0 {
		s.log.Info("traces were sent", "spans", s.sent)
	}
	return nil
}

// run sends what is queued: as much as there is in one request, unless that has become large.
func (s *Sender) run() {
	defer close(s.done)
	var r otel.Request
	size := 0
	for t := range s.queue {
		s.mu.Lock()
		s.bytes -= int64(rollout.Weight(&t))
		s.mu.Unlock()
		for _, span := range otel.Spans(&t, s.content, nil) {
			r.Spans = append(r.Spans, span)
			if size += weigh(&span); size >= requestSize || len(r.Spans) == maxSpans {
				s.send(r)
				r, size = otel.Request{}, 0
			}
		}
		if len(s.queue) == 0 && len(r.Spans) > 0 {
			s.send(r)
			r, size = otel.Request{}, 0
		}
	}
}

// weigh returns about how many bytes a span takes.
func weigh(s *otel.Span) int {
	n := 100 + len(s.Events)*100
	for _, a := range s.Attributes {
		n += len(a.Key) + 16
		if text, ok := a.Value.(string); ok {
			n += len(text)
		}
	}
	return n
}

// send sends a request, and repeats it while the collector is busy: the ids of the
// spans make the second one the same spans.
func (s *Sender) send(r otel.Request) {
	n := int64(len(r.Spans))
	if s.ctx.Err() != nil {
		s.lost += n
		return
	}
	r.Resource = s.resource
	body := r.Protobuf()
	var answer []byte
	err := remote.Again(s.ctx, func() error {
		_, err := s.client.Do(s.ctx,
			remote.Request{Method: http.MethodPost, URL: s.target.url, Body: bytes.NewReader(body), Size: int64(len(body)),
				Type: "application/x-protobuf", Limit: s.target.timeout}, &answer)
		return err
	})
	rejected, why := int64(0), ""
	if err != nil {
		rejected = n
	} else if rejected, why = otel.Rejected(answer); why != "" || rejected > 0 {
		err = fmt.Errorf("otel: the collector rejected %d of %d spans: %s", rejected, n, why)
	}
	rejected = min(n, max(0, rejected))
	s.sent, s.lost = s.sent+n-rejected, s.lost+rejected
	if err != nil && !s.warned {
		s.warned = true
		s.log.Warn("traces could not be sent; the rollout goes on", "error", err)
	} else if err != nil {
		s.log.Debug("traces could not be sent", "error", err)
	}
}
