package art

import (
	"io"
	"sync/atomic"

	"github.com/rollmill/rollmill/stages/backends"
)

// body is a training request that is encoded while it is sent. Before each
// piece it checks whether the sender still owns the submission.
type body struct {
	*io.PipeReader
	guard  func() error
	state  atomic.Int32          // open, whole or stopped
	failed atomic.Pointer[error] // why there will be no last byte
}

func (t *Trainer) body(s backends.Submission, groups backends.Groups, plain bool, sent func(int64)) *body {
	r, w := io.Pipe()
	b := &body{PipeReader: r, guard: s.Guard}
	go func() { w.CloseWithError(t.encode(w, groups, shape(plain), s.Fence, sent)) }()
	return b
}

const (
	open    = iota // more of it may be sent
	whole          // the last byte has been handed to the connection
	stopped        // the last byte will not be sent
)

// stop keeps the last byte from being sent, and reports whether it was in time:
// then the server never gets the whole request.
func (b *body) stop() bool { return b.state.CompareAndSwap(open, stopped) || b.state.Load() == stopped }

func (b *body) Read(p []byte) (int, error) {
	var err error
	if b.guard != nil {
		err = b.guard()
	}
	n := 0
	if err == nil {
		n, err = b.PipeReader.Read(p)
	}
	switch {
	case err == io.EOF && !b.state.CompareAndSwap(open, whole) && b.state.Load() == stopped:
		return 0, io.ErrClosedPipe
	case err != nil && err != io.EOF && err != io.ErrClosedPipe:
		b.failed.Store(&err)
	}
	return n, err
}
