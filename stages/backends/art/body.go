package art

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"sync/atomic"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/stages/backends"
)

// head returns a training request up to its first group; tail is what follows the last.
func (t *Trainer) head() []byte {
	dev := present(t.cfg.DevConfig)
	data, err := json.Marshal(struct {
		Model   art.Model      `json:"model"`
		Config  Training       `json:"config"`
		Dev     map[string]any `json:"dev_config"`
		Verbose bool           `json:"verbose"`
	}{t.cfg.model(), t.cfg.Training, dev, false})
	if err != nil {
		return nil // the same maps were sent to register before
	}
	return append(data[:len(data)-1], `,"trajectory_groups":[`...)
}

const tail = "]}"

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

// rowsFile is the body of the training request, as WriteRows writes it.
const rowsFile = "train_model.json"

// WriteRows writes the body of the training request. It asks the server which ART it is.
func (t *Trainer) WriteRows(ctx context.Context, s backends.Submission, groups backends.Groups, to backends.Place) error {
	d, err := t.detect(ctx)
	if err != nil {
		return err
	}
	return to.WriteFile(ctx, rowsFile, func(w io.Writer) error {
		return t.encode(w, groups, shape(d.plain()), s.Fence, func(int64) {})
	})
}

// shape returns the encoder of a group.
func shape(plain bool) func([]byte, []formats.Trajectory) []byte {
	if plain {
		return art.AppendPlainGroup
	}
	return art.AppendGroup
}

func (t *Trainer) encode(w io.Writer, groups backends.Groups, appendGroup func([]byte, []formats.Trajectory) []byte,
	fence func() error, sent func(int64)) error {
	out := bufio.NewWriterSize(w, 256<<10)
	if _, err := out.Write(t.head()); err != nil {
		return err
	}
	var buf []byte
	var n int64
	for rows, err := range groups {
		if err != nil {
			return err
		}
		buf = buf[:0]
		if n > 0 {
			buf = append(buf, ',')
		}
		buf = appendGroup(buf, rows)
		if _, err := out.Write(buf); err != nil {
			return err
		}
		n++
		sent(n)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if err := fence(); err != nil { // what follows lets the server train
		return err
	}
	if _, err := out.WriteString(tail); err != nil {
		return err
	}
	return out.Flush()
}
