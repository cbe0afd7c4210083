package records

import (
	"bufio"
	"strings"
)

// lineEnds reads CSV for encoding/csv, which would make "\n" of the "\r\n" that a
// quoted field has: there the "\r" is a byte that no text in UTF-8 has, until
// asWritten puts it back.
type lineEnds struct {
	in     *bufio.Reader
	quoted bool
}

const (
	heldReturn = 0xff
	notUTF8    = 0xfe // for a heldReturn of the file
)

// Read implements io.Reader.
func (l *lineEnds) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	for i, c := range p[:n] {
		switch {
		case c == '"':
			l.quoted = !l.quoted
		case c == heldReturn:
			p[i] = notUTF8
		case c == '\r' && l.quoted && l.next(p[i+1:n]) == '\n':
			p[i] = heldReturn
		}
	}
	return n, err
}

// next returns the byte after one of which rest is known.
func (l *lineEnds) next(rest []byte) byte {
	if len(rest) == 0 {
		rest, _ = l.in.Peek(1) // an error comes again when it is read
	}
	if len(rest) == 0 {
		return 0
	}
	return rest[0]
}

// asWritten returns a field as the file has it.
func asWritten(field string) string {
	return strings.ReplaceAll(field, string([]byte{heldReturn}), "\r")
}
