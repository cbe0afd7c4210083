package completion

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

const (
	maxEvent  = 64 << 20
	MaxStream = 256 << 20 // of all events and comments of an engine's stream
)

// Event is one server-sent event: its bytes with the blank line, and its data.
// It is valid until the next one is read.
type Event struct {
	raw     []byte
	Data    []byte // nil for a comment
	read    bool   // already part of the answer
	visible []byte // the data that the agent sees, once it was read; nil: it sees nothing of the event
}

// Last reports whether the event ends the stream.
func (e *Event) Last() bool { return string(e.Data) == "[DONE]" }

func (e *Event) AddTo(a *Answer, see View) error {
	if e.read {
		return nil
	}
	e.read, e.visible = true, e.Data
	a.ended = e.Last() && a.AcceptNoFinish
	if e.Data == nil || e.Last() {
		return nil
	}
	seen, err := a.Add(e.Data, see)
	e.visible = seen
	return err
}

// AppendVisible appends what the agent sees of an event that was read.
func (e *Event) AppendVisible(out []byte) []byte {
	switch {
	case e.Data == nil, len(e.visible) == len(e.Data) && &e.visible[0] == &e.Data[0]:
		return append(out, e.raw...)
	case e.visible == nil:
		return out
	}
	return e.appendWith(out, e.visible)
}

// appendWith appends the event with other data; its other lines are unchanged.
func (e *Event) appendWith(out, data []byte) []byte {
	for line := range bytes.Lines(e.raw) {
		if !bytes.HasPrefix(line, dataField) && len(bytes.TrimSpace(line)) > 0 {
			out = append(out, line...)
		}
	}
	return append(append(append(out, "data: "...), data...), "\n\n"...)
}

var dataField = []byte("data:")

type EventReader struct {
	r       io.Reader
	Close   func()
	buf     []byte // of which from:to was read from r and not yet returned
	from    int
	to      int
	all     int   // bytes that were read
	err     error // of r, once it ended
	current Event
	first   *Event // read by peek, not yet by next
}

func NewEventReader(r io.Reader, close func()) *EventReader {
	return &EventReader{r: remote.EventStream(r), Close: close, buf: make([]byte, 32<<10)}
}

// Peek returns the first event, which next returns again.
func (s *EventReader) Peek() (e *Event, err error) {
	if e, err = s.read(); err == io.EOF {
		err = errors.New("the stream is empty")
	}
	s.first = e
	return e, err
}

// Next returns io.EOF after the last event, and io.ErrUnexpectedEOF for a
// truncated event.
func (s *EventReader) Next() (*Event, error) {
	if e := s.first; e != nil {
		s.first = nil
		return e, nil
	}
	return s.read()
}

// HasMore reports whether another event may be read without blocking.
func (s *EventReader) HasMore() bool {
	return bytes.Contains(s.buf[s.from:s.to], []byte("\n\n"))
}

// read reads the lines up to a blank one. It skips blank lines before an event.
func (s *EventReader) read() (*Event, error) {
	e := &s.current
	*e = Event{}
	for at := s.from; ; {
		n := bytes.IndexByte(s.buf[at:s.to], '\n')
		if n < 0 {
			if s.err == nil {
				skipped := s.fill()
				if at -= skipped; s.to-s.from > maxEvent {
					return nil, fmt.Errorf("an event is larger than %d MiB", maxEvent>>20)
				}
				continue
			}
			return s.lastEvent()
		}
		blank := n == 0
		at += n + 1
		switch {
		case blank && len(bytes.TrimSpace(s.buf[s.from:at])) == 0:
			s.from = at
		case blank:
			s.cut(at)
			return e, nil
		}
	}
}

// lastEvent returns what is left at the end of the stream.
func (s *EventReader) lastEvent() (*Event, error) {
	if s.err != io.EOF {
		return nil, s.err
	}
	if len(bytes.TrimSpace(s.buf[s.from:s.to])) == 0 {
		return nil, io.EOF
	}
	if s.cut(s.to); !s.current.Last() {
		return nil, io.ErrUnexpectedEOF
	}
	return &s.current, nil // some engines leave out the last line end
}

// cut returns the event that ends at a position.
func (s *EventReader) cut(end int) {
	e := &s.current
	e.raw = s.buf[s.from:end:end]
	s.from = end
	for line := range bytes.Lines(e.raw) {
		if !bytes.HasPrefix(line, dataField) {
			continue
		}
		if data := dataOf(line); e.Data == nil {
			e.Data = data
		} else {
			e.Data = append(append(e.Data, '\n'), data...)
		}
	}
}

func dataOf(line []byte) []byte {
	line = line[len(dataField):]
	if len(line) > 0 && line[0] == ' ' {
		line = line[1:]
	}
	n := len(bytes.TrimSuffix(line, []byte("\n")))
	return line[:n:n]
}

// fill reads more, into a larger buffer if necessary. It returns by how much
// the existing bytes moved.
func (s *EventReader) fill() (moved int) {
	if s.to == len(s.buf) {
		into := s.buf
		if s.to-s.from > len(s.buf)/2 {
			into = make([]byte, 2*len(s.buf))
		}
		moved = s.from
		s.to = copy(into, s.buf[s.from:s.to])
		s.from, s.buf = 0, into
	}
	n, err := s.r.Read(s.buf[s.to:])
	s.to += n
	if s.all += n; s.all > MaxStream && err == nil {
		err = fmt.Errorf("the stream is longer than %d MiB", MaxStream>>20)
	}
	if err != nil {
		s.err = err
	}
	return moved
}
