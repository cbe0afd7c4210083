package rollout

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

// redact removes the process's secrets from a trajectory. A trajectory that
// contained one fails: its text is no longer what the model read and wrote, so
// it cannot be trained on.
func redact(ctx context.Context, t *formats.Trajectory) {
	_, redacted := secret.From(ctx).Trajectory(t)
	if redacted && t.Status != outcomes.StatusFailed {
		Fail(t, outcomes.StopError, outcomes.FailSecret, recorder.SecretFound)
	}
	if t.FailureClass == outcomes.FailSecret {
		t.DropTokens() // perhaps only the texts of an answer's tokens spelled it out
	}
}

// row returns the row of an attempt that was not made yet; f is the prefix that it continues, or nil.
func (o *Options) row(e formats.Example, generation int32, f *planning.Fork) formats.Trajectory {
	t := formats.Trajectory{
		TrajectoryID: o.id(e.ID, generation, f), Run: o.Run, ExampleID: e.ID,
		Epoch: int32(o.AtEpoch()), Generation: generation, Example: exampleRow(e),
	}
	if f != nil {
		t.ForkedFrom, t.ForkCall = f.From, &f.Call
	}
	return t
}

func exampleRow(e formats.Example) string {
	if len(e.Fields) > 0 {
		return strings.ToValidUTF8(string(e.Fields), "\uFFFD")
	}
	row, _ := json.Marshal(map[string]string{"id": e.ID, "question": e.Question, "answer": e.Answer})
	return string(row)
}

// fill copies the recorder's record into the row and updates the counts.
func (r *runner) fill(t *formats.Trajectory, rec recorder.Record) {
	t.Diverged = rec.Diverged
	t.Messages, t.Calls, t.ToolSets, t.TokenSource = rec.Messages, rec.Calls, rec.ToolSets, rec.TokenSource
	if r.opts.Alternatives != TrainAlternatives {
		t.Messages, t.Candidates = tree.SplitAlternatives(t.Messages, t.Calls)
	}
	t.Model = r.opts.Model
	if r.opts.Policy != nil {
		t.PolicyVersion = &r.opts.Policy.Version
	}
	for i := range t.Calls {
		c := &t.Calls[i]
		if c.Target && c.Error == "" {
			t.Model = c.Model
			if t.PolicyVersion == nil {
				t.PolicyVersion = c.PolicyVersion
			}
		}
	}
	t.SetTotals()
	t.Answer = chat.Answer(t)
}
