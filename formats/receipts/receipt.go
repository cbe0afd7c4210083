package receipts

import (
	"encoding/json"
	"strings"
	"time"
)

// Receipt is the trainer's result of one submission. It is stored as
// ReceiptFile under submit's --out, and rollout --policy reads it.
type Receipt struct {
	Format  string `json:"format"` // ReceiptFormat
	Key     string `json:"key"`    // in the ledger: digest of (curated digest, target, model)
	Backend string `json:"backend"`
	State   string `json:"state"`
	Run     string `json:"run,omitempty"`
	// of the curated dataset's run: it finds the ledger after the run's folder was moved
	RunID         string `json:"run_id,omitempty"`
	Epoch         int    `json:"epoch"`
	Curated       string `json:"curated"`        // URI of the dataset submitted
	CuratedDigest string `json:"curated_digest"` // its rows_digest
	Trajectories  int64  `json:"trajectories"`
	Groups        int64  `json:"groups"`
	Tokens        int64  `json:"tokens"` // sampled tokens submitted
	Job           string `json:"job,omitempty"`
	StepBefore    *int64 `json:"step_before,omitempty"`
	StepAfter     *int64 `json:"step_after,omitempty"`
	// the policy after this submission; the one before it when nothing was trained
	Policy      *Policy            `json:"policy,omitempty"`
	Metrics     map[string]float64 `json:"metrics,omitempty"`
	MetricSteps []json.RawMessage  `json:"metric_steps,omitempty"` // each metric line as received
	Files       []string           `json:"files,omitempty"`        // written by the file backend
	// of each file of sequences: the tokens that went in and came out
	Sequences map[string]Balance `json:"sequences,omitempty"`
	Message   string             `json:"message,omitempty"`
	Redacted  map[string]int64   `json:"redacted,omitempty"` // what --redact removed, by rule
	// where it was sent; with Ledger, all that is needed to ask for the job
	Target     *Target    `json:"target,omitempty"`
	Ledger     string     `json:"ledger,omitempty"`   // URI, without credentials
	Resubmit   string     `json:"resubmit,omitempty"` // the earlier submission despite which it was sent
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// Balance is what went into a file of sequences and came out of it. In is Tokens plus Lost.
type Balance struct {
	Trajectories int64 `json:"trajectories"`           // that give sequences
	Sequences    int64 `json:"sequences"`              // of them
	Tokens       int64 `json:"tokens"`                 // sampled tokens that train, each in one sequence
	In           int64 `json:"tokens_in"`              // sampled by calls to the target
	Lost         int64 `json:"tokens_lost,omitempty"`  // of trajectories that gave no sequences
	Alternatives int64 `json:"alternatives,omitempty"` // tokens of answers that the agent did not choose; never in a sequence
	// prompt tokens that a trainer which shares prefixes would not compute again
	Shared int64 `json:"shared,omitempty"`
}

// Target identifies where a batch is trained. With the batch's digest it makes
// the key of a submission in the ledger, so nothing in it may change from one
// run of a command to the next, and it never holds credentials.
type Target struct {
	Backend string `json:"backend"`
	Address string `json:"address"`
	Model   string `json:"model"`
}

// Policy identifies the weights that answer, and their endpoint.
type Policy struct {
	URL     string `json:"url"` // OpenAI-compatible base URL, ending in /v1
	Model   string `json:"model"`
	Version int64  `json:"version"`
}

// Names reports whether a model's name stands for the policy. Some servers append the step: name@3.
func (p Policy) Names(model string) bool {
	bare := func(name string) string {
		name, _, _ = strings.Cut(name, "@")
		return name
	}
	return bare(model) == bare(p.Model)
}

const (
	Format = "rollmill-receipt/1"
	File   = "_receipt.json"
)

// The states of a submission.
const (
	JobNothing   = "nothing"  // the curated set was empty; nothing was sent
	JobPrepared  = "prepared" // there was nothing to send yet; the policy answers
	JobPending   = "pending"
	JobRunning   = "running"
	JobCompleted = "completed"
	JobFailed    = "failed"
	JobCancelled = "cancelled"
	JobUntrained = "untrained" // the trainer took the batch and found nothing to train on
)
