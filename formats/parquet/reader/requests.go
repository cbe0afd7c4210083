package reader

import (
	"sync"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// request is a range of a file that is fetched at once.
type request struct {
	layout.Extent
	need  float64       // row group and fraction of its rows from which on it is needed
	users int           // chunks that have not passed it
	done  chan struct{} // closed when data or err is set; nil until the request is begun
	err   error
}

// requests is what the streams of files that are read one after another share:
// one budget of memory, and atOnce requests at the same time, in the order in
// which they begin. Only the requests run in other goroutines than the reader's.
type requests struct {
	held, maxHeld int64 // bytes of the requests that were begun, now and at most
	slots         chan struct{}

	mu    sync.Mutex
	queue []func() // what the requests that wait for a slot do
}

func newRequests() *requests { return &requests{slots: make(chan struct{}, layout.AtOnce)} }

// begin fetches a request's bytes, unless the stream is closed before its turn.
func (s *stream) begin(q *request) {
	if q.done != nil {
		return
	}
	q.done = make(chan struct{})
	s.held += q.End - q.Off
	s.maxHeld = max(s.maxHeld, s.held)
	s.inTurn(func() {
		defer close(q.done)
		if !s.closed.Load() {
			q.Data = make([]byte, q.End-q.Off)
			q.err = layout.ReadAt(s.r.f.Src, q.Data, q.Off)
		}
	})
}

// inTurn runs f in another goroutine, once there is a slot and those before it have begun.
func (o *requests) inTurn(f func()) {
	o.mu.Lock()
	o.queue = append(o.queue, f)
	o.mu.Unlock()
	go func() {
		o.slots <- struct{}{}
		defer func() { <-o.slots }()
		o.mu.Lock()
		first := o.queue[0]
		o.queue = o.queue[1:]
		o.mu.Unlock()
		first()
	}()
}

// passed ends a chunk's use of a request. Its memory counts until no chunk uses it
// and, unless the stream is closed, its bytes have arrived.
func (s *stream) passed(q *request) {
	if q.users--; q.users > 0 || q.done == nil {
		return
	}
	if !s.closed.Load() {
		<-q.done
		q.Data = nil // lists of requests may still refer to it
	}
	s.held -= q.End - q.Off
}

// Held returns how many bytes of a file that is fetched ahead are in memory, now and at most.
func (r *reader) Held() (now, most int64) {
	if r.stream == nil {
		return 0, 0
	}
	return r.stream.held, r.stream.maxHeld
}
