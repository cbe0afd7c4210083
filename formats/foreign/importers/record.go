package importers

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// Record is a piece of a file that is converted by itself.
type Record struct {
	Data []byte // of one JSON value, or what the format's records are; it may be kept
	Row  int64  // which record of the file it is, from 0
	Line int    // where it begins in a text, from 1; 0 for none

	Nulls   bool  // its objects have nulls that datasets added, see Rows
	Dropped int64 // how many such nulls, and of structs of Parquet and Arrow, were left out

	Context []byte // what Records knows of it from elsewhere, such as from the file's name; nil for nothing

	*Options
	Losses []Loss // what Lose recorded

	Withheld int              // members with the name of a secret that were left out
	LeftOut  map[string]int64 // of a log: members with an end user's id, name or address, by name
	Kept     map[string]bool  // names of Options.Keep under which something was kept

	log   bool // see Format.Log
	taken int  // members that were left out, for whatever reason
}

// Loss is a part of a record that a trajectory has no place for.
type Loss struct{ Field, Why string }

func (l Loss) String() string { return fmt.Sprintf("%s: %s", l.Field, l.Why) }

// Lose records that a part of the record has no place in a trajectory. Unless
// the user accepts losses, the record is refused for it. field is a name of the
// format, without indexes, since losses are counted by it. What a reader may
// want to have is not lost but put into Row.Metadata.
func (r *Record) Lose(field, why string) {
	r.Losses = append(r.Losses, Loss{Field: field, Why: why})
}

// Sparse returns a value without the nulls that datasets added, and counts them.
func (r *Record) Sparse(v []byte) []byte {
	if r == nil || !r.Nulls {
		return v
	}
	return jsontext.DropNulls(v, &r.Dropped)
}

// LoseAll records what the reading of JSON lost.
func (r *Record) LoseAll(lost []jsontext.Lost) {
	for _, l := range lost {
		r.Lose(l.Path, l.Why)
	}
}

// At returns the place of a record in a file, for messages.
func (r *Record) At() string {
	if r.Line > 0 {
		return fmt.Sprintf("line %d", r.Line)
	}
	return fmt.Sprintf("record %d", r.Row)
}

// Refused returns the error about a record of a file that cannot be imported.
func (r *Record) Refused(file, hint string, err error) error {
	return fault.Invalid(file, hint, err, "%s", r.At())
}

// Brief returns the beginning of a value, for messages.
func Brief(v []byte) string {
	const limit = 60
	if len(v) > limit {
		return fmt.Sprintf("%.*q…", limit, v)
	}
	return fmt.Sprintf("%q", v)
}

// Item is one trajectory.
type Item struct {
	// Row is the trajectory. Its TrajectoryID and ExampleID are the source's own,
	// "" when it has none: then digests of the content and of the prompt take
	// their place. Epoch and Generation, Run, digests and totals of tokens are set
	// later; so are Answer, Status, StopReason, Model and PolicyVersion where they
	// are empty.
	Row formats.Trajectory

	// Whole is the metadata as the source has it, if Convert took something out: only groups are searched in it.
	Whole string

	// ResponseID is the engine's own id of the answer of a row that is one call; "" unknown. Engines repeat them:
	// it is an id only together with the request and the answer.
	ResponseID string

	NumberID bool // ExampleID is a number in the source

	Epoch   *int32 // the source's own, such as the training step; nil when it has none
	Attempt *int64 // the source's own number of the attempt at the example: orders a group; nil: as in the source

	// Final means that the ids, the run and the generation are Rollmill's own. They
	// stay as they are when those of all rows of the group are, and the user did
	// not choose other groups.
	Final bool

	Pair  PairSide // of two adjacent items of a record, which is preferred
	Label *bool    // whether the answer is desirable (KTO); nil when the source does not say
}

// PairSide is the side of a preference on which an item is.
type PairSide string

// The sides of a preference. The items of a record are paired in order: each
// chosen one with the rejected one that follows it.
const (
	Unpaired PairSide = ""
	Chosen   PairSide = "chosen"
	Rejected PairSide = "rejected"
)
