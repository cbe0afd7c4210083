package recorder

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	maxBody  = 256 << 20 // of a request or a whole answer
	maxEvent = 64 << 20
)

// event is one server-sent event: its bytes with the blank line, and its data.
type event struct {
	raw  []byte
	data []byte // nil for a comment
	read bool   // already part of the answer
	seen []byte // what the agent is to see, once it was read
}

// last tells the end of a stream.
func (e *event) last() bool { return string(e.data) == "[DONE]" }

// put makes an event part of an answer.
func (e *event) put(a *answer, q *request) error {
	if e.read {
		return nil
	}
	e.read, e.seen = true, e.raw
	if e.data == nil || e.last() {
		return nil
	}
	out, err := q.api.add(a, e.data, q.view)
	switch {
	case err != nil:
		return err
	case out == nil:
		e.seen = nil
	case !bytes.Equal(out, e.data):
		e.seen = e.with(out)
	}
	return nil
}

// with is the event with other data: its other lines stand.
func (e *event) with(data []byte) []byte {
	var out []byte
	for line := range bytes.Lines(e.raw) {
		if !bytes.HasPrefix(line, []byte("data:")) && len(bytes.TrimSpace(line)) > 0 {
			out = append(out, line...)
		}
	}
	return append(append(append(out, "data: "...), data...), "\n\n"...)
}

// events reads server-sent events.
type events struct {
	r     *bufio.Reader
	close func()
	first *event // read by peek, not yet by next
}

func newEvents(r io.Reader, close func()) *events {
	return &events{r: bufio.NewReaderSize(r, 32<<10), close: close}
}

// peek waits for the first event.
func (s *events) peek() (err error) {
	s.first, err = s.read()
	if err == io.EOF {
		return errors.New("the stream is empty")
	}
	return err
}

// next returns io.EOF after the last event. An event that breaks off is
// io.ErrUnexpectedEOF.
func (s *events) next() (*event, error) {
	if e := s.first; e != nil {
		s.first = nil
		return e, nil
	}
	return s.read()
}

func (s *events) read() (*event, error) {
	e := &event{}
	for {
		line, err := s.line(len(e.raw))
		if err != nil && err != io.EOF {
			return nil, err
		}
		e.raw = append(e.raw, line...)
		line = bytes.TrimRight(line, "\r\n")
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			e.addData(bytes.TrimPrefix(data, []byte(" ")))
		}
		blank := len(bytes.TrimSpace(e.raw)) == 0
		switch {
		case err == io.EOF && blank:
			return nil, io.EOF
		case err == io.EOF && e.last():
			return e, nil // some engines leave out the last line end
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case blank:
			e.raw = e.raw[:0]
		case len(line) == 0:
			return e, nil
		}
	}
}

func (e *event) addData(data []byte) {
	if e.data != nil {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, data...)
}

func (s *events) line(have int) ([]byte, error) {
	var line []byte
	for {
		part, err := s.r.ReadSlice('\n')
		line = append(line, part...)
		if len(line)+have > maxEvent {
			return nil, fmt.Errorf("an event is larger than %d MiB", maxEvent>>20)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}
