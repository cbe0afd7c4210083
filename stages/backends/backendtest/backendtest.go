package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// Subject is a trainer and a view behind it.
type Subject struct {
	Trainer backends.Trainer
	Jobs    func() int // batches that had an effect so far
	Secrets []string   // that must not appear in its target

	Sent func() []string // of a trainer that can write rows: the files or the bodies that were sent
}

// Run tests a trainer; each scenario gets a fresh subject.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	for _, scenario := range []struct {
		name string
		run  func(t *testing.T, s Subject)
	}{
		{"it describes itself, and its target holds no secret", describes},
		{"preflight counts the batch and has no effect", preflight},
		{"begin may be repeated and has no effect", begin},
		{"a batch is submitted and then resolved as done", submit},
		{"the rows that are shown are those that are sent", rows},
		{"what was never sent is never resolved as done", neverSent},
		{"a batch that cannot be read has no effect", unreadable},
		{"a sender that lost its lease sends nothing whole", guarded},
		{"a sender whose place was taken sends nothing whole", fenced},
		{"a cancelled sender ends at once", cancelled},
	} {
		t.Run(scenario.name, func(t *testing.T) { scenario.run(t, fresh(t)) })
	}
}

// Batch returns three groups that any trainer accepts.
func Batch() backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		for e := range 3 {
			if !yield(Group(e), nil) {
				return
			}
		}
	}
}

// Group returns four attempts at an example, with rewards from 0 to 1.
func Group(example int) []formats.Trajectory {
	id := fmt.Sprintf("example-%d", example)
	rows := make([]formats.Trajectory, 4)
	for g := range rows {
		rows[g] = formats.Trajectory{
			TrajectoryID: formats.TrajectoryID("run", id, 0, g), Run: "run", ExampleID: id, GroupID: formats.GroupID(id, 0),
			Generation: int32(g),
			Example:    fmt.Sprintf(`{"id":%q}`, id), Status: outcomes.StatusOK, StopReason: outcomes.StopDone,
			SampledTokens: 2, Reward: new(float64(g) / 3),
			Messages: []formats.Message{
				{Parent: -1, Role: "user", Content: "what is " + id, Call: -1},
				{Parent: 0, Role: "assistant", Content: fmt.Sprint("answer ", g), Sampled: true, FinishReason: "stop",
					TokenIDs: []int32{int32(100*example + 10*g), 2}, Logprobs: []float32{-0.5, -1}},
			},
			Calls: []formats.Call{{Model: "policy", Sampling: "{}", Tools: -1, Target: true, PromptTokens: 5,
				CompletionTokens: 2}},
		}
		rows[g].SetPayloadDigest()
	}
	return rows
}

func submission(token string, before backends.TrainerState) backends.Submission {
	return backends.Submission{Token: token, Before: before, Tokens: 24, Guard: func() error { return nil }}
}

func ignore(backends.JobEvent) {}

func noJobs(t *testing.T, s Subject) {
	t.Helper()
	if n := s.Jobs(); n != 0 {
		t.Errorf("%d jobs", n)
	}
}

func describes(t *testing.T, s Subject) {
	d := s.Trainer.Describe()
	if d.Effect < backends.AdvancesPolicy || d.Effect > backends.KeepsBatch || d.Compares != nil && d.Use == nil || d.Cancel != nil && d.Status == nil {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff(s.Trainer.Identity(), s.Trainer.Identity()); diff != "" {
		t.Error(diff)
	}
	one := s.Trainer.Target()
	if diff := cmp.Diff(one, s.Trainer.Target()); diff != "" || one.Backend == "" || one.Address == "" || one.Model == "" {
		t.Errorf("%+v %s", one, diff)
	}
	for _, secret := range s.Secrets {
		if strings.Contains(fmt.Sprint(one), secret) {
			t.Errorf("%+v holds a secret", one)
		}
	}
}

func preflight(t *testing.T, s Subject) {
	var first backends.BatchStats
	for i := range 2 {
		stats, err := s.Trainer.Preflight(t.Context(), Batch(), func(p backends.Problem) { t.Errorf("%+v", p) })
		if err != nil {
			t.Fatal(err)
		}
		if stats.Groups != 3 || stats.Trajectories != 12 || stats.Tokens != 24 || stats.Bytes == 0 {
			t.Errorf("%+v", stats)
		}
		if i == 0 {
			first = stats
		} else if diff := cmp.Diff(first, stats); diff != "" {
			t.Error(diff)
		}
	}
	noJobs(t, s)
}

func begin(t *testing.T, s Subject) {
	first, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Trainer.Begin(t.Context(), first.Policy)
	if diff := cmp.Diff(first, again); diff != "" || err != nil {
		t.Error(diff, err)
	}
	noJobs(t, s)
}

func rows(t *testing.T, s Subject) {
	write := s.Trainer.Describe().WriteRows
	if write == nil {
		return
	}
	before, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	place := backends.Place{URI: "mem://shown", Begin: func(context.Context) (backends.Draft, error) {
		return &draft{files: shown}, nil
	},
		Read: func(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }}
	if err := write(t.Context(), submission("batch", before), Batch(), place); err != nil {
		t.Fatal(err)
	}
	noJobs(t, s)
	if _, err := s.Trainer.Submit(t.Context(), submission("batch", before), Batch(), ignore); err != nil {
		t.Fatal(err)
	}
	if len(shown) == 0 {
		t.Error("no rows are shown")
	}
	for name, data := range shown {
		if !slices.Contains(s.Sent(), data) {
			t.Errorf("%s is not what was sent: %.300q", name, data)
		}
	}
}

// draft is a file in memory.
type draft struct {
	bytes.Buffer
	files map[string]string
}

func (d *draft) Replace(_ context.Context, name string) error {
	d.files[name] = d.String()
	return nil
}

func (d *draft) Discard() error { return nil }

func submit(t *testing.T, s Subject) {
	before, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := int64(0)
	out, err := s.Trainer.Submit(t.Context(), submission("batch", before), Batch(), func(e backends.JobEvent) {
		sent = max(sent, e.Sent)
	})
	if err == nil {
		out, err = followed(t, s, out)
	}
	if err != nil || out.State != receipts.JobCompleted || sent != 3 || s.Jobs() != 1 {
		t.Fatalf("%+v, %v; %d groups sent, %d jobs", out, err, sent, s.Jobs())
	}
	if before.Step != nil && (out.StepAfter == nil || *out.StepAfter != *before.Step+1 || out.Policy == nil ||
		out.Policy.Version != *out.StepAfter) {
		t.Errorf("from %+v to %+v", before, out)
	}
	resolved, err := s.Trainer.Resolve(t.Context(), submission("batch", before))
	if err != nil || resolved.State != receipts.JobCompleted {
		t.Errorf("%+v, %v", resolved, err)
	}
}

// followed polls a job that outlives the connection until it has ended.
func followed(t *testing.T, s Subject, out backends.Outcome) (backends.Outcome, error) {
	status, job := s.Trainer.Describe().Status, out.Job
	for n := 0; status != nil && n < 1000 && (out.State == receipts.JobRunning || out.State == receipts.JobPending); n++ {
		var err error
		if out, err = status(t.Context(), job); err != nil {
			return out, err
		}
	}
	return out, nil
}

func neverSent(t *testing.T, s Subject) {
	before, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Trainer.Resolve(t.Context(), submission("other", before))
	if err != nil || out.State != backends.JobUnknown && !(out.State == receipts.JobFailed && out.Clean) {
		t.Errorf("%+v, %v", out, err)
	}
}

// fails submits a batch that must not have an effect.
func fails(t *testing.T, s Subject, ctx context.Context, sub backends.Submission, groups backends.Groups, want error) {
	t.Helper()
	before, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sub.Before = before
	out, err := s.Trainer.Submit(ctx, sub, groups, ignore)
	if !errors.Is(err, want) || out.State != receipts.JobFailed || !out.Clean {
		t.Errorf("%+v, %v; want %v", out, err, want)
	}
	noJobs(t, s)
}

func unreadable(t *testing.T, s Subject) {
	damage := fault.Invalid("dataset", "", nil, "page 3 is damaged")
	groups := func(yield func([]formats.Trajectory, error) bool) {
		if yield(Group(0), nil) {
			yield(nil, damage)
		}
	}
	fails(t, s, t.Context(), submission("batch", backends.TrainerState{}), groups, damage)
}

func guarded(t *testing.T, s Subject) {
	lost := errors.New("the lease ran out")
	sub := submission("batch", backends.TrainerState{})
	asked := 0
	sub.Guard = func() error {
		if asked++; asked > 1 {
			return lost
		}
		return nil
	}
	fails(t, s, t.Context(), sub, Batch(), lost)
}

func cancelled(t *testing.T, s Subject) {
	before, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	groups := func(yield func([]formats.Trajectory, error) bool) {
		cancel()
		yield(nil, context.Cause(ctx))
	}
	if out, err := s.Trainer.Submit(ctx, submission("batch", before), groups, ignore); err == nil {
		t.Errorf("%+v without an error", out)
	}
	noJobs(t, s)
}
