package backends

import (
	"encoding/json"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/receipts"
)

// TrainerState is the state of a trainer before a batch.
type TrainerState struct {
	Step   *int64           `json:"step,omitempty"` // nil when the trainer does not count
	Policy *receipts.Policy `json:"policy,omitempty"`
}

// Submission is one batch to be sent to a trainer.
type Submission struct {
	// Token names the batch to the trainer: it is the same for every attempt, and another one
	// after --resubmit. It is recorded in the intent before anything is sent. A service that
	// supports an idempotency key gets it with the request that makes the job.
	Token   string       `json:"token"`
	Run     string       `json:"run,omitempty"`
	Epoch   int          `json:"epoch"`
	Curated string       `json:"curated,omitempty"`        // URI of the dataset, for a trainer that reads it itself
	Digest  string       `json:"curated_digest,omitempty"` // its rows_digest
	Before  TrainerState `json:"before"`                   // read before anything was sent
	Started time.Time    `json:"started"`

	// Echo asks a trainer that can to give back what it computed for each sequence: a
	// file of trainers.EchoRow, named EchoFile, among the outcome's files.
	Echo bool `json:"echo,omitempty"`

	// Tokens is how many tokens Preflight found to train on.
	Tokens int64 `json:"tokens,omitempty"`

	// Guard returns an error once the sender no longer owns the submission.
	// Call it before each piece that is sent, and send nothing after it failed.
	// It is cheap: most calls make no request.
	Guard func() error `json:"-"`

	// Owned is what Fence calls; nil: Guard is called.
	Owned func() error `json:"-"`
}

// Fence reads the ledger again and returns an error if the sender no longer owns the submission.
// Call it right before the request that cannot be undone: the one that makes a job, or the last
// piece of a batch that trains when it is complete.
func (s *Submission) Fence() error {
	switch {
	case s.Owned != nil:
		return s.Owned()
	case s.Guard != nil:
		return s.Guard()
	}
	return nil
}

// Guarded yields a batch's groups while the sender owns the submission: it calls Guard before
// each. It reports each group that was read to event, unless that is nil.
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

// JobEvent is an event of a running job.
type JobEvent struct {
	Job     string          // the trainer's reference, as soon as it is known
	Metrics json.RawMessage // a line of metrics
	Sent    int64           // groups sent so far
	Note    string
}

// Outcome is the state of a submission, as far as the trainer knows it.
type Outcome struct {
	State        string // receipts.JobPending, receipts.JobRunning, or how it ended
	UnknownState bool   // of JobRunning: the trainer reported an unknown state, so the rest of the outcome is no progress
	MayChange    bool   // of JobUnknown: the trainer may know more later, so it is worth asking again
	Clean        bool   // of JobFailed: it is certain that nothing was trained, so the batch may be sent again
	Job          string
	StepAfter    *int64
	Policy       *receipts.Policy // the policy that answers from now on
	Metrics      map[string]float64
	MetricSteps  []json.RawMessage
	Files        []string
	Message      string
}

// Clean returns the outcome of a submission of which certainly nothing was trained.
func Clean(message string) Outcome {
	return Outcome{State: receipts.JobFailed, Clean: true, Message: message}
}

// EchoFile is the name of the file in which a trainer gives back what it computed.
const EchoFile = "echo.parquet"

// JobUnknown is the state of a submission if it is unknown whether it was
// trained. It is never the state of a receipt.
const JobUnknown = "unknown"
