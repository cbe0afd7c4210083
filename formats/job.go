package formats

import (
	"encoding/json"
	"iter"
	"time"
)

// What submit and a trainer say to each other. A trainer knows none of our
// stages, so the words they share are here.

// Groups yields a batch, one group at a time, in the dataset's order. It may
// be ranged over several times; each time reads the dataset anew. The slice
// and what it points at belong to the reader until the next step.
type Groups = iter.Seq2[[]Trajectory, error]

// Target says where a batch trains. With the batch's digest it makes the key
// under which a submission is remembered, so nothing in it may change from
// one run of a command to the next, and it never holds credentials.
type Target struct {
	Backend string `json:"backend"`
	Address string `json:"address"`
	Model   string `json:"model"`
}

// Standing is where a trainer is before a batch.
type Standing struct {
	Step   *int64  `json:"step,omitempty"` // nil when the trainer does not count
	Policy *Policy `json:"policy,omitempty"`
}

// Problem is a reason not to hand a batch over.
type Problem struct {
	GroupID      string `json:"group_id,omitempty"`
	TrajectoryID string `json:"trajectory_id,omitempty"` // "" when the whole group is meant
	Reason       string `json:"reason"`                  // from the trainer's closed list
	Detail       string `json:"detail,omitempty"`
	Hint         string `json:"hint,omitempty"`
}

// Load is what a batch amounts to.
type Load struct {
	Groups       int64    `json:"groups"`
	Trajectories int64    `json:"trajectories"`
	Sequences    int64    `json:"sequences"` // what the trainer will tokenize; branches count
	Tokens       int64    `json:"tokens"`    // sampled tokens that train
	Bytes        int64    `json:"bytes"`     // in the trainer's own form
	Notes        []string `json:"notes,omitempty"`

	Files  []FileLoad `json:"files,omitempty"`  // of a trainer that writes files
	Checks []string   `json:"checks,omitempty"` // the reasons that were looked for, of the trainer's closed list
	Total  int64      `json:"total,omitempty"`  // tokens that travel, context and all; an estimate
	Passes int64      `json:"passes,omitempty"` // how often the trainer goes over them, where that is said; 0 counts as 1
	Cost   *float64   `json:"cost,omitempty"`   // what that comes to at the price given
}

// FileLoad is what a batch amounts to in one file.
type FileLoad struct {
	Name    string           `json:"name"`
	Rows    int64            `json:"rows"`
	Skipped map[string]int64 `json:"skipped,omitempty"` // groups, pairs or labels without a row, by reason
	Unfit   string           `json:"unfit,omitempty"`   // why it is not written
}

// Submission is one batch on its way to a trainer.
type Submission struct {
	// Token names the batch to the trainer: the same for every attempt,
	// another after --resubmit. It is in the intent before anything is sent.
	// A service that takes an idempotency key is given it with the request
	// that makes the job.
	Token   string    `json:"token"`
	Run     string    `json:"run,omitempty"`
	Epoch   int       `json:"epoch"`
	Curated string    `json:"curated,omitempty"`        // URI of the dataset, for a trainer that reads it by itself
	Digest  string    `json:"curated_digest,omitempty"` // its rows_digest
	Before  Standing  `json:"before"`                   // noted before anything was sent
	Started time.Time `json:"started"`

	// Guard fails once the sender no longer owns the submission. Ask before
	// each piece that is sent, and send nothing after it failed. It is cheap:
	// most calls ask nobody.
	Guard func() error `json:"-"`

	// Owned is what Fence asks; nil: Guard is asked.
	Owned func() error `json:"-"`
}

// Fence reads the ledger again and fails if the sender no longer owns the
// submission. Ask right before the request that cannot be undone: the one that
// makes a job, or the last piece of a batch that trains when it is whole.
func (s *Submission) Fence() error {
	switch {
	case s.Owned != nil:
		return s.Owned()
	case s.Guard != nil:
		return s.Guard()
	}
	return nil
}

// JobEvent is news of a job under way.
type JobEvent struct {
	Job     string          // the trainer's reference, as soon as it is known
	Metrics json.RawMessage // a line of metrics
	Sent    int64           // groups handed over so far
	Note    string
}

// Outcome is what became of a submission, as far as the trainer can tell.
type Outcome struct {
	State       string // JobPending, JobRunning, or how it ended
	Strange     bool   // of JobRunning: the trainer's word for it is not known, so whatever else it says is no news
	Clean       bool   // of JobFailed: it is certain that nothing was trained, so the batch may be sent again
	Job         string
	StepAfter   *int64
	Policy      *Policy // what answers from now on
	Metrics     map[string]float64
	MetricSteps []json.RawMessage
	Files       []string
	Message     string
}

// JobUnknown: nobody can tell whether the batch was trained. It is never the
// state of a receipt.
const JobUnknown = "unknown"
