package fault

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid marks input that cannot be used: a damaged file, a wrong schema,
// an incomplete or changed dataset. Commands exit with code 4.
var ErrInvalid = errors.New("invalid input")

// Input describes bad input: where it is, what is wrong, and what may
// help.
type Input struct {
	Place string // dataset, part or file, as a URI or a path
	Row   int64  // from 0; -1 when the error is not about one row
	What  string // the problem, quoting the offending value
	Help  string // a hint, or ""
	Err   error  // the underlying error, or nil
}

// Invalid returns an InputError that is not about one row.
func Invalid(place, hint string, err error, format string, args ...any) *Input {
	return &Input{Place: place, Row: -1, What: fmt.Sprintf(format, args...), Help: hint, Err: err}
}

// InRow makes the error one about a row, from 0.
func (e *Input) InRow(row int64) *Input {
	e.Row = row
	return e
}

func (e *Input) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q", e.Place)
	if e.Row >= 0 {
		fmt.Fprintf(&b, " row %d", e.Row)
	}
	b.WriteString(": " + e.What)
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *Input) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrInvalid}
	}
	return []error{ErrInvalid, e.Err}
}

// Hint returns what the command line prints after the error.
func (e *Input) Hint() string { return e.Help }
