package agents

import (
	"errors"
	"slices"
	"syscall"
)

// Exhausted reports whether an error means that this process, or the machine,
// cannot open another file or start another process. The agent did not cause
// that, so no trajectory fails: the run ends and keeps the finished ones.
func Exhausted(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM},
		func(limit error) bool { return errors.Is(err, limit) })
}
