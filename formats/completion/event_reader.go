package completion

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	maxEvent  = 64 << 20
	MaxStream = 256 << 20 // of all events and comments of an engine's stream
)

type EventReader struct {
	r       io.Reader
	Close   func()
	buf     []byte // what was read
	rest    []byte // its end: what no event has yet
	blank   int    // rest has no blank line before it
	all     int    // bytes that were read
	err     error  // of the last read
	current Event
	first   *Event // read by peek, not yet by next
}

func NewEventReader(r io.Reader, close func()) *EventReader {
	return &EventReader{r: EventStream(r), Close: close, buf: make([]byte, 0, 32<<10)}
}

// Peek returns the first event, which next returns again.
func (s *EventReader) Peek() (e *Event, err error) {
	if e, err = s.read(); err == io.EOF {
		err = errors.New("the stream is empty")
	}
	s.first = e
	return e, err
}

// Next returns io.EOF after the last event, and io.ErrUnexpectedEOF for a truncated event.
func (s *EventReader) Next() (*Event, error) {
	if e := s.first; e != nil {
		s.first = nil
		return e, nil
	}
	return s.read()
}

// HasMore reports whether another event may be read without blocking.
func (s *EventReader) HasMore() bool { return s.find() >= 0 }

// find returns the end of the first blank line of the rest, or -1. No byte is searched twice.
func (s *EventReader) find() int {
	n := bytes.Index(s.rest[s.blank:], []byte("\n\n"))
	if n < 0 {
		s.blank = max(0, len(s.rest)-1)
		return n
	}
	s.blank += n
	return s.blank + len("\n\n")
}

// read reads the lines up to a blank one. It skips blank lines before an event.
func (s *EventReader) read() (*Event, error) {
	for {
		for len(s.rest) > 0 && s.rest[0] == '\n' {
			s.take(1)
		}
		if n := s.find(); n >= 0 {
			if raw := s.take(n); len(bytes.TrimSpace(raw)) > 0 {
				return s.event(raw), nil
			}
			continue
		}
		switch {
		case s.err == io.EOF:
			return s.lastEvent()
		case s.err != nil:
			return nil, s.err
		case s.all > MaxStream:
			return nil, fmt.Errorf("the stream is longer than %d MiB", MaxStream>>20)
		case len(s.rest) > maxEvent:
			return nil, fmt.Errorf("an event is larger than %d MiB", maxEvent>>20)
		}
		s.fill()
	}
}

// take removes n bytes from the rest.
func (s *EventReader) take(n int) (taken []byte) {
	taken, s.rest, s.blank = s.rest[:n], s.rest[n:], max(0, s.blank-n)
	return taken
}

// fill reads once, over what events had.
func (s *EventReader) fill() {
	if len(s.rest) < len(s.buf) {
		s.buf = s.buf[:copy(s.buf, s.rest)]
	}
	s.buf = slices.Grow(s.buf, 1)
	n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	s.rest, s.all, s.err = s.buf, s.all+n, err
}

// lastEvent returns what is left at the end of the stream.
func (s *EventReader) lastEvent() (*Event, error) {
	raw := s.take(len(s.rest))
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, io.EOF
	}
	if e := s.event(raw); e.Last() {
		return e, nil // some engines leave out the last line end
	}
	return nil, io.ErrUnexpectedEOF
}

// event returns the event that has these lines.
func (s *EventReader) event(raw []byte) *Event {
	s.current = Event{raw: raw}
	e := &s.current
	for line := range bytes.Lines(raw) {
		if !bytes.HasPrefix(line, dataField) {
			continue
		}
		if data := dataOf(line); e.Data == nil {
			e.Data = data
		} else {
			e.Data = append(append(e.Data, '\n'), data...)
		}
	}
	return e
}

func dataOf(line []byte) []byte {
	line = line[len(dataField):]
	if len(line) > 0 && line[0] == ' ' {
		line = line[1:]
	}
	n := len(bytes.TrimSuffix(line, []byte("\n")))
	return line[:n:n]
}
