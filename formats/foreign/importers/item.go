package importers

import "github.com/rollmill/rollmill/formats"

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
