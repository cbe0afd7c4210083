package process

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/traceback"
)

// Tail keeps the end of a program's standard error, for the text of an error.
// It is safe for concurrent use.
type Tail struct {
	mu     sync.Mutex
	in     *secret.Writer
	kept   end
	logged *lines // nil for none
}

// NewTail keeps the last bytes written, up to limit, without the secrets of the context.
func NewTail(ctx context.Context, limit int) *Tail {
	t := &Tail{kept: end{limit: limit}}
	t.in = secret.From(ctx).NewWriter(&t.kept)
	return t
}

// NewLoggedTail is NewTail, and also logs each line at level debug, the first MiB of all.
func NewLoggedTail(ctx context.Context, limit int, log *slog.Logger) *Tail {
	t := NewTail(ctx, limit)
	if log.Enabled(ctx, slog.LevelDebug) {
		t.logged = &lines{log: log, left: maxLogged}
		t.in = secret.From(ctx).NewWriter(io.MultiWriter(&t.kept, t.logged))
	}
	return t
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.in.Write(p)
}

// Close passes on the unfinished line. It never fails.
func (t *Tail) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.in.Close() // neither end nor lines fails
	if t.logged != nil {
		t.logged.flush()
	}
	return nil
}

// String returns the end, trimmed; it begins with "…" if there was more, and with
// the place in the user's code if the traceback that has it is not in the end.
func (t *Tail) String() string { return t.End(t.kept.limit) }

// End is String for a smaller limit.
func (t *Tail) End(limit int) string {
	_ = t.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	short := t.kept
	short.data, short.limit = bytes.Clone(t.kept.data), limit
	return short.String()
}

var noModule = regexp.MustCompile(`No module named '?rollmill\b`)

// end keeps the end of what is written. It holds up to four times as much, so
// that most writes move nothing.
type end struct {
	data  []byte
	limit int
	cut   bool

	line   []byte // the beginning of the unfinished line
	failed traceback.Finder
}

func (e *end) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		e.line = append(e.line, line[:min(len(line), maxLine-len(e.line))]...)
		if line[len(line)-1] == '\n' {
			e.failed.Line(string(e.line))
			e.line = e.line[:0]
		}
	}
	if e.data = append(e.data, p...); len(e.data) > 4*e.limit {
		e.trim()
	}
	return len(p), nil
}

func (e *end) trim() {
	if extra := len(e.data) - e.limit; extra > 0 {
		e.data, e.cut = append(e.data[:0], e.data[extra:]...), true
	}
}

func (e *end) String() string {
	e.trim()
	text := strings.TrimSpace(strings.ToValidUTF8(string(e.data), "\uFFFD"))
	if noModule.MatchString(text) {
		text += " (install it for this Python: pip install rollmill, or the wheel that `make wheels` builds)"
	}
	if e.cut && text != "" {
		if e.failed.Place != "" && traceback.Place(text) != e.failed.Place {
			return "in " + e.failed.Place + ": …" + text
		}
		return "…" + text
	}
	return text
}
