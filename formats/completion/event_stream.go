package completion

import (
	"bytes"
	"io"
)

const byteOrderMark = "\xef\xbb\xbf"

// EventStream returns the text of an event stream as the specification of server-sent events reads it: without the byte
// order mark that may begin it, and with one LF for each line end, which may be LF, CR LF or CR.
func EventStream(r io.Reader) io.Reader { return &eventStream{r: r} }

type eventStream struct {
	r     io.Reader
	begun bool
	cr    bool // the last byte read was a CR
}

func (s *eventStream) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil && len(p) > 0 {
		least := 1
		if !s.begun {
			least = min(len(byteOrderMark), len(p))
		}
		if n, err = io.ReadAtLeast(s.r, p, least); err == io.ErrUnexpectedEOF && n > 0 {
			err = nil // the reader's own error comes again
		}
		if !s.begun && bytes.HasPrefix(p[:n], []byte(byteOrderMark)) {
			n = copy(p, p[len(byteOrderMark):n])
		}
		s.begun = true
		if s.cr || bytes.IndexByte(p[:n], '\r') >= 0 {
			n = s.lineEnds(p[:n])
		}
	}
	return n, err
}

// lineEnds replaces CR and CR LF by LF, and returns how many bytes are left. An LF after a CR is dropped even if it comes
// later, so that no event waits for it.
func (s *eventStream) lineEnds(p []byte) int {
	kept := p[:0]
	for _, c := range p {
		after := s.cr
		s.cr = c == '\r'
		switch {
		case s.cr:
			kept = append(kept, '\n')
		case c != '\n' || !after:
			kept = append(kept, c)
		}
	}
	return len(kept)
}

// Event is one server-sent event: its bytes with the blank line, and its data. It is valid until the next one is read.
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

// AppendVisible appends what the agent sees of an event that was read: its data may be less, and its other lines are
// unchanged.
func (e *Event) AppendVisible(out []byte) []byte {
	switch {
	case e.Data == nil, len(e.visible) == len(e.Data) && &e.visible[0] == &e.Data[0]:
		return append(out, e.raw...)
	case e.visible == nil:
		return out
	}
	for line := range bytes.Lines(e.raw) {
		if !bytes.HasPrefix(line, dataField) && len(bytes.TrimSpace(line)) > 0 {
			out = append(out, line...)
		}
	}
	return append(append(append(out, "data: "...), e.visible...), "\n\n"...)
}

var dataField = []byte("data:")
