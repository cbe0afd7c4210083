package backends

import (
	"encoding/json"
	"time"

	"github.com/rollmill/rollmill/formats"
)

// TrainerState is where a trainer is before a batch.
type TrainerState struct {
	Step   *int64          `json:"step,omitempty"` // nil when the trainer does not count
	Policy *formats.Policy `json:"policy,omitempty"`
}

// Submission is one batch on its way to a trainer.
type Submission struct {
	// Token names the batch to the trainer: the same for every attempt,
	// another after --resubmit. It is in the intent before anything is sent.
	// A service that takes an idempotency key is given it with the request
	// that makes the job.
	Token   string       `json:"token"`
	Run     string       `json:"run,omitempty"`
	Epoch   int          `json:"epoch"`
	Curated string       `json:"curated,omitempty"`        // URI of the dataset, for a trainer that reads it by itself
	Digest  string       `json:"curated_digest,omitempty"` // its rows_digest
	Before  TrainerState `json:"before"`                   // noted before anything was sent
	Started time.Time    `json:"started"`

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

// Guarded yields a batch's groups while the sender owns the submission: it asks
// Guard before each. It reports each group that was taken to event, unless that
// is nil.
func (s *Submission) Guarded(groups Groups, event func(JobEvent)) Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		sent := int64(0)
		for rows, err := range groups {
			if err == nil && s.Guard != nil {
				err = s.Guard()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(rows, nil) {
				return
			}
			sent++
			if event != nil {
				event(JobEvent{Sent: sent})
			}
		}
	}
}

// JobEvent is news of a running job.
type JobEvent struct {
	Job     string          // the trainer's reference, as soon as it is known
	Metrics json.RawMessage // a line of metrics
	Sent    int64           // groups sent so far
	Note    string
}

// Outcome is what became of a submission, as far as the trainer knows.
type Outcome struct {
	State        string // formats.JobPending, formats.JobRunning, or how it ended
	UnknownState bool   // of JobRunning: the trainer reported a state that we do not know, so the rest of the outcome is no news
	Clean        bool   // of JobFailed: it is certain that nothing was trained, so the batch may be sent again
	Job          string
	StepAfter    *int64
	Policy       *formats.Policy // what answers from now on
	Metrics      map[string]float64
	MetricSteps  []json.RawMessage
	Files        []string
	Message      string
}

// JobUnknown is the state of a submission of which nobody knows whether it was
// trained. It is never the state of a receipt.
const JobUnknown = "unknown"
