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
