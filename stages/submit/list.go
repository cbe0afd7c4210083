package submit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
)

// Listed is one submission of a ledger, from its records alone: no trainer is asked.
type Listed struct {
	Key     string `json:"key"`
	Attempt int    `json:"attempt"`
	// of the receipt; else void, sent, begun, damaged, or running when the job is known
	State     string          `json:"state"`
	Job       string          `json:"job,omitempty"`
	Target    receipts.Target `json:"target"`
	Run       string          `json:"run,omitempty"`
	Epoch     int             `json:"epoch"`
	Curated   string          `json:"curated"`
	Digest    string          `json:"curated_digest"`
	Owner     string          `json:"owner"`
	Alive     bool            `json:"alive"` // its owner has not ended, as far as the records show
	CreatedAt time.Time       `json:"created_at"`

	Settings backends.Identity `json:"settings,omitempty"`
	Receipt  *receipts.Receipt `json:"-"` // nil until the submission has ended
}

// List returns the submissions of a ledger, the oldest first.
func List(ctx context.Context, store Store, keys Keys, now func() time.Time) ([]Listed, error) {
	var out []Listed
	var failed error
	for key, err := range keys.submissions(ctx) {
		if err != nil {
			return nil, err
		}
		l := &ledger{store: store, key: key, now: now, ttl: time.Minute}
		a, err := l.last(ctx)
		if err != nil || a == nil {
			failed = errors.Join(failed, err)
			continue
		}
		out = append(out, a.listed())
	}
	slices.SortStableFunc(out, func(a, b Listed) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return out, failed
}

func (a *attempt) listed() Listed {
	e := Listed{Key: a.Key, Attempt: a.Attempt, Target: a.Target, Run: a.Run, Epoch: a.Epoch, Curated: a.Curated, Digest: a.Digest, Settings: a.Settings,
		Owner: a.Owner.String(), Alive: a.damage == nil && a.done == nil && !a.gone(), CreatedAt: a.CreatedAt}
	if a.job != nil {
		e.Job = a.job.Job
	}
	if a.done != nil && a.damage == nil {
		e.Receipt = a.done.Receipt
	}
	e.State = a.state()
	return e
}

// state returns the state of an attempt according to its records.
func (a *attempt) state() string {
	switch {
	case a.damage != nil:
		return "damaged"
	case a.done != nil && a.done.Receipt != nil:
		return a.done.Receipt.State
	case a.done != nil:
		return "void"
	case a.job != nil:
		return receipts.JobRunning
	case a.sent != nil && !a.sent.Void:
		return "sent"
	}
	return "begun"
}
