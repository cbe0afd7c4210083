package submit

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
)

// Listed is one submission of a ledger, as its records have it: no trainer is
// asked.
type Listed struct {
	Key       string         `json:"key"`
	Attempt   int            `json:"attempt"`
	State     string         `json:"state"` // of the receipt; else void, sent, begun, or running when the job is known
	Job       string         `json:"job,omitempty"`
	Target    formats.Target `json:"target"`
	Run       string         `json:"run,omitempty"`
	Epoch     int            `json:"epoch"`
	Curated   string         `json:"curated"`
	Owner     string         `json:"owner"`
	Alive     bool           `json:"alive"` // its owner is at work
	CreatedAt time.Time      `json:"created_at"`
}

// List yields the submissions of a ledger, the oldest first. keys yields the
// names under a prefix; a key that is yielded twice counts once.
func List(ctx context.Context, store Store, keys func(ctx context.Context, prefix string) iter.Seq2[string, error], now func() time.Time) ([]Listed, error) {
	const prefix = ".rollmill/ledger/"
	seen := map[string]bool{}
	var found []string
	for name, err := range keys(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		key, rest, ok := strings.Cut(strings.TrimPrefix(name, prefix), "/")
		if ok && strings.HasSuffix(rest, "/intent.json") && !seen[key] {
			seen[key] = true
			found = append(found, key)
		}
	}
	var out []Listed
	var failed error
	for _, key := range found {
		l := &ledger{store: store, key: key, now: now, ttl: time.Minute}
		a, err := l.last(ctx)
		if err != nil || a == nil {
			failed = errors.Join(failed, err)
			continue
		}
		out = append(out, a.listed(l))
	}
	slices.SortStableFunc(out, func(a, b Listed) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return out, failed
}

func (a *attempt) listed(l *ledger) Listed {
	e := Listed{Key: a.Key, Attempt: a.Attempt, Target: a.Target, Run: a.Run, Epoch: a.Epoch, Curated: a.Curated,
		Owner: a.Owner.String(), Alive: a.done == nil && l.alive(a), CreatedAt: a.CreatedAt}
	if a.job != nil {
		e.Job = a.job.Job
	}
	switch {
	case a.done != nil && a.done.Receipt != nil:
		e.State = a.done.Receipt.State
	case a.done != nil:
		e.State = "void"
	case a.job != nil:
		e.State = formats.JobRunning
	case a.sent != nil && !a.sent.Void:
		e.State = "sent"
	default:
		e.State = "begun"
	}
	return e
}
