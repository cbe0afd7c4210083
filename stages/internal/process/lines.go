package process

import (
	"bytes"
	"log/slog"
	"strings"
)

const (
	maxLogged = 1 << 20 // bytes of a program's standard error in the log
	maxLine   = 4 << 10 // a longer line is logged in pieces
)

// lines logs each line that is written to it. It never fails.
type lines struct {
	log  *slog.Logger
	left int // bytes that may still be logged
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ends := bytes.Cut(rest, []byte("\n"))
		if space := maxLine - len(l.rest); len(line) > space {
			line, after, ends = rest[:space], rest[space:], true
		}
		l.rest, rest = append(l.rest, line...), after
		if ends {
			l.flush()
		}
	}
	return len(p), nil
}

func (l *lines) flush() {
	text := strings.TrimRight(strings.ToValidUTF8(string(l.rest), "\uFFFD"), "\r\n")
	l.rest = l.rest[:0]
	if text == "" || l.left <= 0 {
		return
	}
	l.log.Debug("stderr", "line", text)
	if l.left -= len(text); l.left <= 0 {
		l.log.Debug("stderr: the program has written too much; the rest is not logged", "bytes", maxLogged)
	}
}
