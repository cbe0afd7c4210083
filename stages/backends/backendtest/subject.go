package backendtest

import (
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/backends"
)

// Subject is a trainer and a view behind it.
type Subject struct {
	Trainer backends.Trainer
	Jobs    func() int // batches that had an effect so far
	Secrets []string   // that must not appear in its target

	Sent func() []string // of a trainer that can write rows: the files or the bodies that were sent
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
