package backendtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

// notebook is the smallest trainer that keeps every promise: a job is a file
// named after the submission's token, and training counts sampled tokens. Begin
// a backend of your own with it.
type notebook struct{ dir string }

// page is what a job leaves.
type page struct {
	Tokens int64
	Step   int64
}

func (n notebook) path(token string) string { return filepath.Join(n.dir, token+".json") }

// Target is what the ledger remembers a batch by: no secrets, and the same in
// every run.
func (n notebook) Target() receipts.Target {
	return receipts.Target{Backend: "notebook", Address: n.dir, Model: "counter"}
}

// Identity says which settings make other jobs of the same rows: there are none.
func (n notebook) Identity() backends.Identity { return nil }

// Describe says what submit has to know: all jobs advance one counter, beside the user.
func (n notebook) Describe() backends.Description {
	return backends.Description{Effect: backends.AdvancesPolicy, Private: true}
}

// Preflight reads the batch and tells of every row that cannot go.
func (n notebook) Preflight(_ context.Context, groups backends.Groups, report func(backends.Problem)) (stats backends.BatchStats, err error) {
	stats.Checks = []string{"no_tokens"}
	for rows, err := range groups {
		if err != nil {
			return stats, err
		}
		stats.AddGroup(rows)
		for i := range rows {
			t := &rows[i]
			stats.Bytes += 8
			if t.SampledTokens == 0 {
				report(backends.Problem{GroupID: t.GroupID, TrajectoryID: t.TrajectoryID, Reason: "no_tokens", Detail: "nothing was sampled"})
			}
		}
	}
	return stats, nil
}

// steps counts the jobs.
func (n notebook) steps() int64 {
	jobs, _ := filepath.Glob(n.path("*"))
	return int64(len(jobs))
}

func (n notebook) policy(step int64) *receipts.Policy {
	return &receipts.Policy{URL: "http://notebook.test/v1", Model: "counter", Version: step}
}

// Begin says where it stands, and trains nothing.
func (n notebook) Begin(context.Context, *receipts.Policy) (backends.TrainerState, error) {
	step := n.steps()
	return backends.TrainerState{Step: &step, Policy: n.policy(step)}, nil
}

// Submit asks Fence before what cannot be undone, and makes the job by a call
// that fails when it is there already.
func (n notebook) Submit(_ context.Context, s backends.Submission, groups backends.Groups, event func(backends.JobEvent)) (backends.Outcome, error) {
	clean := backends.Outcome{State: receipts.JobFailed, Clean: true, Message: "nothing was written"}
	p, sent := page{Step: *s.Before.Step + 1}, int64(0)
	for rows, err := range groups {
		if err == nil {
			err = s.Guard()
		}
		if err != nil {
			return clean, err
		}
		for i := range rows {
			p.Tokens += int64(rows[i].SampledTokens)
		}
		sent++
		event(backends.JobEvent{Sent: sent})
	}
	if err := s.Fence(); err != nil {
		return clean, err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return clean, err
	}
	part := filepath.Join(n.dir, s.Token+".part")
	if err := os.WriteFile(part, data, 0o600); err != nil {
		return clean, err
	}
	defer os.Remove(part)
	if err := os.Link(part, n.path(s.Token)); err != nil && !errors.Is(err, fs.ErrExist) {
		return clean, err
	}
	return n.outcome(p), nil
}

func (n notebook) outcome(p page) backends.Outcome {
	return backends.Outcome{State: receipts.JobCompleted, StepAfter: &p.Step, Policy: n.policy(p.Step), Metrics: map[string]float64{"tokens": float64(p.Tokens)}}
}

// Resolve is asked when a sender is gone: it looks for the token, and says
// nothing that it does not know for certain.
func (n notebook) Resolve(_ context.Context, s backends.Submission) (backends.Outcome, error) {
	data, err := os.ReadFile(n.path(s.Token))
	if errors.Is(err, fs.ErrNotExist) {
		return backends.Outcome{State: receipts.JobFailed, Clean: true, Message: "there is no such job"}, nil
	}
	var p page
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	return n.outcome(p), nil
}

// TestTheExample is all the test that a new backend begins with.
func TestTheExample(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backendtest.Subject {
		n := notebook{t.TempDir()}
		return backendtest.Subject{Trainer: n, Jobs: func() int { return int(n.steps()) }}
	})
}
