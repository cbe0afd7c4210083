package fault

import (
	"errors"
	"fmt"
)

// Kind is the kind of an error that a calling program may act on; each has one
// exit code (see cmd/internal/cli/exit.go). Bad input is fault.ErrInvalid, and a
// refused gate is manifest.GateError; neither needs a kind here.
type Kind string

const (
	Failed    Kind = "failed"    // exit 1
	Usage     Kind = "usage"     // exit 2: an option or the config is wrong
	Budget    Kind = "budget"    // exit 5: a budget is spent, or a service refuses everybody; the work is kept
	Person    Kind = "person"    // exit 6: manual action required; see the hint
	Temporary Kind = "temporary" // exit 75: the same command may succeed later
)

// Error is an error with a kind and a hint.
type Error struct {
	Kind Kind
	What string
	Help string // "" for none
	Err  error  // the reason below, or nil
}

// Errorf makes an Error; a %w in the format is its cause.
func Errorf(kind Kind, hint, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, What: err.Error(), Help: hint, Err: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.What }
func (e *Error) Unwrap() error { return e.Err }

// Hint returns what the command line prints after the error.
func (e *Error) Hint() string { return e.Help }
