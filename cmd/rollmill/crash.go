package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

// bugReports is where to report a crash.
const bugReports = "https://github.com/rollmill/rollmill/issues"

// guarded runs a function. If it panics, guarded says so and where to report
// it, and returns exitCrash: Go's own exit code for that, 2, means wrong usage
// here.
//
// That covers the goroutine of the command. No recover reaches a panic of
// another goroutine or an error of Go's runtime, such as a stack overflow; they
// end the process by SIGABRT, which shells report as exitAbort. So that such
// an end leaves no keys on disk, no memory is dumped. Both is left alone for
// who sets GOTRACEBACK.
func guarded(f func() int) (code int) {
	if os.Getenv("GOTRACEBACK") == "" {
		debug.SetTraceback("crash")
		noMemoryDump()
	}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprint(os.Stderr, visible(fmt.Sprintf("panic: %v\n\n%s", p, debug.Stack())))
			fmt.Fprintf(os.Stderr, "rollmill: crashed, version %s\nhint: this is a bug; please report it with the lines above: %s\n", version(), bugReports)
			code = exitCrash
		}
	}()
	return f()
}
