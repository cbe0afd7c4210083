package rollout

import (
	"errors"
	"strings"
	"syscall"

	"github.com/rollmill/rollmill/stages"
)

// exhausted reports whether an error says that this process, or the machine,
// has no room for another file or process. That is no fault of an agent's, so
// it fails no trajectory: the run ends, and what had ended is kept.
func exhausted(err error) bool {
	for _, limit := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM} {
		if errors.Is(err, limit) {
			return true
		}
	}
	return false
}

// exhaustedText is exhausted for a call of the recorder's, of which the text
// is left: Go names the system call before the cause, and an engine's own words
// come after the status.
func exhaustedText(text string) bool {
	return !strings.HasPrefix(text, "HTTP ") && (strings.Contains(text, "socket: "+syscall.EMFILE.Error()) || strings.Contains(text, "socket: "+syscall.ENFILE.Error()))
}

var errFiles = syscall.EMFILE

func noRoom(err error) error {
	return stages.Errorf(stages.KindTemporary, "lower --concurrency, or raise the limit (ulimit -n for files, ulimit -u for processes), and run the same command again",
		"rollout: this machine has no room for another attempt; what had ended is kept: %w", err)
}
