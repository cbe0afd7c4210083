package secret

import (
	"bytes"
	"io"
	"strings"
)

// held is the longest unfinished line that a Writer holds back.
const held = 64 << 10

// Writer redacts a stream. It holds back the last, unfinished line, since a
// value may arrive in two writes. Close writes the rest and does not close the
// underlying writer.
type Writer struct {
	set *Set
	w   io.Writer
	buf []byte
}

func (s *Set) NewWriter(w io.Writer) *Writer { return &Writer{set: s, w: w} }

// Write never writes a value, even if it arrives in several writes.
func (w *Writer) Write(p []byte) (int, error) {
	if !w.set.Known() { // and a set never loses values
		return w.w.Write(p)
	}
	w.buf = append(w.buf, p...)
	if cut := w.cut(len(w.buf) - len(p)); cut > 0 {
		if err := w.flush(cut); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// cut returns the length of the prefix of the buffer at whose end no value
// continues; new bytes begin at from.
func (w *Writer) cut(from int) int {
	m := w.set.found.Load()
	if m.lines {
		if end := bytes.LastIndexByte(w.buf[from:], '\n') + 1; end > 0 {
			return from + end
		}
	}
	if len(w.buf) < held {
		return 0
	}
	cut := len(w.buf) - m.longest
	if cut <= 0 {
		return 0
	}
	for moved := true; moved; {
		moved = false
		for i := range m.patterns {
			p := &m.patterns[i]
			from := max(cut-len(p.text)+1, 0)
			at := strings.Index(string(w.buf[from:min(cut+len(p.text), len(w.buf))]), p.text)
			if at >= 0 && from+at < cut && from+at+len(p.text) > cut {
				cut, moved = from+at, true
			}
		}
	}
	return cut
}

func (w *Writer) flush(cut int) error {
	_, err := io.WriteString(w.w, w.set.Redact(string(w.buf[:cut])))
	w.buf = append(w.buf[:0], w.buf[cut:]...)
	return err
}

// Close writes what was held back.
func (w *Writer) Close() error {
	if len(w.buf) == 0 {
		return nil
	}
	return w.flush(len(w.buf))
}
