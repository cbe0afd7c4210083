package cli

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
)

const bugReports = "https://github.com/rollmill/rollmill/issues"

// recoverCrash runs f. If f panics, it prints the panic and where to report it, and returns
// ExitCrash: Go's own exit code for a panic, 2, means wrong usage here.
//
// This covers only the goroutine of the command. A panic of another goroutine or a fatal error
// of the Go runtime, such as a stack overflow, cannot be recovered; it ends the process by
// SIGABRT, which shells report as ExitAbort. Memory dumps are disabled, so that such a crash
// leaves no keys on disk. A user who sets GOTRACEBACK gets Go's own behaviour for both.
func (a *App) recoverCrash(f func() int) (code int) {
	if os.Getenv("GOTRACEBACK") == "" {
		debug.SetTraceback("crash")
		noMemoryDump()
	}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprint(os.Stderr, terminal.Visible(fmt.Sprintf("panic: %v\n\n%s", p, debug.Stack())))
			fmt.Fprintf(os.Stderr, "rollmill: crashed, version %s\nhint: this is a bug; please report it with the lines "+
				"above: %s\n", a.Version, bugReports)
			code = ExitCrash
		}
	}()
	return f()
}

// noMemoryDump keeps a crash from writing the process's memory to disk.
func noMemoryDump() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // the dump is the system's, which may not allow it
	}
}
