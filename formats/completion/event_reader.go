package completion

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	maxEvent  = 64 << 20
	MaxStream = 256 << 20 // of all events and comments of an engine's stream
)

type EventReader struct {
	r       *bufio.Reader
	Close   func()
	raw     []byte // of the current event
	all     int    // bytes that were read
	current Event
	first   *Event // read by peek, not yet by next
}

func NewEventReader(r io.Reader, close func()) *EventReader {
	return &EventReader{r: bufio.NewReaderSize(EventStream(r), 32<<10), Close: close}
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
func (s *EventReader) HasMore() bool {
	more, _ := s.r.Peek(s.r.Buffered())
	return bytes.Contains(more, []byte("\n\n"))
}

// read reads the lines up to a blank one. It skips blank lines before an event.
func (s *EventReader) read() (*Event, error) {
	s.raw, s.current = s.raw[:0], Event{}
	for {
		piece, err := s.r.ReadSlice('\n')
		whole := len(s.raw) == 0 || s.raw[len(s.raw)-1] == '\n'
		s.raw = append(s.raw, piece...)
		s.all += len(piece)
		switch {
		case err == io.EOF:
			return s.lastEvent()
		case err != nil && err != bufio.ErrBufferFull:
			return nil, err
		case s.all > MaxStream:
			return nil, fmt.Errorf("the stream is longer than %d MiB", MaxStream>>20)
		case len(s.raw) > maxEvent:
			return nil, fmt.Errorf("an event is larger than %d MiB", maxEvent>>20)
		case !whole || string(piece) != "\n":
		case len(bytes.TrimSpace(s.raw)) == 0:
			s.raw = s.raw[:0]
		default:
			return s.event(), nil
		}
	}
}

// lastEvent returns what is left at the end of the stream.
func (s *EventReader) lastEvent() (*Event, error) {
	if len(bytes.TrimSpace(s.raw)) == 0 {
		return nil, io.EOF
	}
	if e := s.event(); e.Last() {
		return e, nil // some engines leave out the last line end
	}
	return nil, io.ErrUnexpectedEOF
}

// event returns the event that was read.
func (s *EventReader) event() *Event {
	e := &s.current
	e.raw = s.raw
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
