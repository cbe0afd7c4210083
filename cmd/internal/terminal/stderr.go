package terminal

import (
	"io"
	"sync"

	"github.com/vbauerster/mpb/v8"

	"github.com/rollmill/rollmill/formats/secret"
)

// stderr writes log lines, messages and errors to standard error, above the progress bars if
// there are any. It redacts the secrets of this process and escapes control characters.
type stderr struct {
	w        io.Writer
	terminal bool

	secrets *secret.Set

	mu   sync.Mutex
	bars *mpb.Progress
	live int
}

// Write writes whole lines.
func (t *stderr) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := Visible(t.secrets.Redact(string(p)))
	if t.bars != nil {
		if _, err := t.bars.Write([]byte(text)); err == nil {
			return len(p), nil
		}
	}
	_, err := io.WriteString(t.w, text)
	return len(p), err
}
