package callstest

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/rows"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Logged is a call as a log has it.
type Logged struct {
	Attempt string // that made it
	Index   int    // among the attempt's calls
	Row     formats.Trajectory

	parent *node // the answer that it continues in the recorded tree; nil for none
}

// Mark names a call.
func (l *Logged) Mark() string { return fmt.Sprintf("%s#%d", l.Attempt, l.Index) }

// Marked puts the names of an attempt's calls into their column function, in the log and in the row. A call
// that no engine was asked for counts as one try, as it does in a log.
func Marked(r *Recorded) {
	r.Row.Calls = slices.Clone(r.Row.Calls)
	for i, l := range r.Calls {
		c := &r.Row.Calls[i]
		c.Function, c.Attempts = c.Function+"|"+l.Mark(), max(1, c.Attempts)
		l.Row.Calls[0].Function, l.Row.Calls[0].Attempts = c.Function, c.Attempts
	}
}

// Session is the member of the metadata that names a call's attempt in Line.
const Session = "session"

// Line appends the row as a line of format rows, with the attempt in its metadata.
func (l *Logged) Line(dst []byte) []byte {
	row := l.Row
	row.Metadata = string(append(append([]byte(`{"`+Session+`":`), jsontext.AppendString(nil, l.Attempt)...), '}'))
	return append(rows.Append(dst, &row), '\n')
}
