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
	lacks  bool  // between that and the call is an answer to a prompt that the attempt did not ask
}

// Mark is a text that names a call, which Marked puts into its column function.
func (l *Logged) Mark() string { return fmt.Sprintf("%s#%d", l.Attempt, l.Index) }

// Marked names every call of a recorded trajectory in its column function.
func Marked(attempt string, t *formats.Trajectory) {
	t.Calls = slices.Clone(t.Calls)
	for i := range t.Calls {
		t.Calls[i].Function += "|" + (&Logged{Attempt: attempt, Index: i}).Mark()
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
