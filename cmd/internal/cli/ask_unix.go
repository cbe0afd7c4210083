//go:build !(darwin || dragonfly || freebsd || netbsd || openbsd)

package cli

import (
	"os"
	"syscall"
)

// askSignals are the signals that print the progress.
var askSignals = []os.Signal{syscall.SIGUSR1}
