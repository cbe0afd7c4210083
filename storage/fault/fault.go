package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// Kind is the kind of an error that a calling program may act on.
type Kind string

const (
	Failed    Kind = "failed"
	Usage     Kind = "usage"     // an option or the config is wrong
	Gate      Kind = "gate"      // a gate refused the dataset
	Input     Kind = "input"     // invalid or incomplete: a damaged file, a wrong schema, a changed dataset
	Budget    Kind = "budget"    // a budget is spent, or a service refuses everybody; the work is kept
	Person    Kind = "person"    // manual action required; see the hint
	Temporary Kind = "temporary" // the same command may succeed later
)

// ErrInvalid is in the tree of every Error of kind Input.
var ErrInvalid = errors.New("invalid input")

// Error is an error with a kind and a hint, and the place of bad input.
type Error struct {
	Kind  Kind
	Place string // dataset, part or file, as a URI or a path; "" for none
	Row   int64  // in Place, from 0; -1 when the error is not about one row
	What  string // the problem with its cause, quoting the offending value
	Help  string // the hint, or ""
	Err   error  // the cause, or nil
}

// Errorf makes an Error without a place; a %w in the format is its cause.
func Errorf(kind Kind, hint, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Row: -1, What: err.Error(), Help: hint, Err: errors.Unwrap(err)}
}

// Invalid returns an Error of kind Input that is not about one row. A cause that only says that
// something does not exist is not in the text, which then says what.
func Invalid(place, hint string, cause error, format string, args ...any) *Error {
	e := &Error{Kind: Input, Place: place, Row: -1, What: fmt.Sprintf(format, args...), Help: hint, Err: cause}
	if cause != nil && !slices.Contains([]string{"does not exist", fs.ErrNotExist.Error()}, cause.Error()) {
		e.What += ": " + cause.Error()
	}
	return e
}

// InRow makes the error one about a row, from 0.
func (e *Error) InRow(row int64) *Error {
	e.Row = row
	return e
}

func (e *Error) Error() string {
	switch {
	case e.Place == "":
		return e.What
	case e.Row >= 0:
		return fmt.Sprintf("%q row %d: %s", e.Place, e.Row, e.What)
	}
	return fmt.Sprintf("%q: %s", e.Place, e.What)
}

// Unwrap returns the cause, and ErrInvalid for input.
func (e *Error) Unwrap() []error {
	var tree []error
	if e.Kind == Input {
		tree = append(tree, ErrInvalid)
	}
	if e.Err != nil {
		tree = append(tree, e.Err)
	}
	return tree
}

// Fault returns the error's kind and hint.
func (e *Error) Fault() (Kind, string) { return e.Kind, e.Help }
