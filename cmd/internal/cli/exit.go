package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/rollmill/rollmill/storage/fault"
)

// The exit codes are API: Make, Airflow and Slurm act on them.
const (
	ExitDone       = 0
	ExitFailed     = 1
	ExitUsage      = 2
	ExitGate       = 3
	ExitInput      = 4
	ExitBudget     = 5
	ExitPerson     = 6
	ExitCrash      = 70 // EX_SOFTWARE of sysexits.h
	ExitTemporary  = 75
	ExitInterrupt  = 130
	ExitAbort      = 134 // 128 + SIGABRT, which Go's runtime raises
	ExitKilled     = 137 // 128 + SIGKILL, which no process can handle
	ExitTerminated = 143
)

// exitCodes are the codes and their meanings, as --help shows them.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{ExitDone, "done, or up to date"},
	{ExitFailed, "failed"},
	{ExitUsage, "wrong usage or config"},
	{ExitGate, "a gate refused the dataset; it is kept"},
	{ExitInput, "input invalid or incomplete"},
	{ExitBudget, "stopped, finished work is kept: the budget is spent, or a service refuses everybody (bill, key, model)"},
	{ExitPerson, "manual action required; see the hint"},
	{ExitCrash, "crashed; please report it at " + bugReports},
	{ExitTemporary, "temporary; the same command may succeed later"},
	{ExitInterrupt, "interrupted; finished work is kept"},
	{ExitAbort, "crashed outside the command's own goroutine, or stopped by the Go runtime; please report it too"},
	{ExitKilled, "killed, often because memory ran out; finished work is kept"},
	{ExitTerminated, "terminated; finished work is kept"},
}

// exitCode maps the kind of an error to an exit code.
func exitCode(ctx context.Context, err error) int {
	var (
		signal Interrupted
		status Exit
	)
	switch {
	case err == nil:
		return ExitDone
	case errors.As(context.Cause(ctx), &signal):
		return 128 + int(signal.Signal)
	case errors.As(err, &status):
		return status.Code
	}
	code := kindCodes[fault.KindOf(err)]
	if code == ExitFailed && errors.Is(err, syscall.ENOTDIR) {
		return ExitInput
	}
	return code
}

// Exit is an error with an exit code that a setting or a program chose.
type Exit struct {
	Code int
	What string // the message
}

func (e Exit) Error() string { return e.What }

var kindCodes = map[fault.Kind]int{
	fault.Failed:    ExitFailed,
	fault.Usage:     ExitUsage,
	fault.Gate:      ExitGate,
	fault.Input:     ExitInput,
	fault.Budget:    ExitBudget,
	fault.Person:    ExitPerson,
	fault.Temporary: ExitTemporary,
}

// Usagef returns a usage error: a wrong flag, config key or argument. hint says
// what to do, and may be empty.
func Usagef(hint, format string, args ...any) error {
	return fault.Errorf(fault.Usage, hint, format, args...)
}

func exitHelp() string {
	var b strings.Builder
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.meaning)
	}
	return b.String()
}
