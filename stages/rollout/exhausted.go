package rollout

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/rollmill/rollmill/storage/fault"
)

// exhausted reports whether an error means that this process, or the machine,
// cannot open another file or start another process. The agent did not cause
// that, so no trajectory fails: the run ends and keeps the finished ones.
func exhausted(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM},
		func(limit error) bool { return errors.Is(err, limit) })
}

// exhaustedText is exhausted for a call of the recorder, of which only the text
// is left: Go names the system call before the cause, while an engine's own
// message follows the HTTP status.
func exhaustedText(text string) bool {
	return !strings.HasPrefix(text, "HTTP ") &&
		(strings.Contains(text, "socket: "+syscall.EMFILE.Error()) ||
			strings.Contains(text, "socket: "+syscall.ENFILE.Error()))
}

func noRoom(err error) error {
	return fault.Errorf(fault.Temporary,
		"lower --concurrency, or raise the limit (ulimit -n for files, ulimit -u for processes), and run the same "+
			"command again",
		"rollout: this machine cannot start another attempt; finished trajectories are kept: %w", err)
}
