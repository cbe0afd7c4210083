package rollout

import (
	"context"
	"iter"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

// What happens with the answered calls of an attempt whose process died.
const (
	ResumeOn     = "on"     // the attempt gets their answers; one that asks something else goes on with the engine
	ResumeStrict = "strict" // one that asks something else fails
	ResumeOff    = "off"    // the attempt begins anew, and calls are not journalled
)

// answeredCall is a call of an attempt, in the journal from when it was answered.
type answeredCall struct {
	ExampleID  string            `parquet:"example_id,dict"`
	Generation int32             `parquet:"generation,delta"`
	Attempt    int32             `parquet:"attempt,delta"`
	Answered   recorder.Answered `parquet:"answered"`
}

// weight returns about how many bytes a call takes.
func (c *answeredCall) weight() int {
	return Weight(&formats.Trajectory{Messages: c.Answered.Choices, Calls: []formats.Call{c.Answered.Call}})
}

// calls are the answered calls of a shard: those of earlier processes, and the journal.
type calls struct {
	journal *journals.Journal[answeredCall]
	keeper  *keeper[answeredCall]
	earlier map[string][]recorder.Answered // of attempts that have no end, by trajectory
}

// readCalls reads the answered calls of attempts that have no recorded end, and adds what all
// calls cost to the spending: also those that an attempt did not ask for again.
func (r *runner) readCalls(ctx context.Context, shard *shards.Shard, before *dataset.Dataset, done *done) (err error) {
	r.calls = &calls{earlier: map[string][]recorder.Answered{}}
	if !r.opts.keepsCalls() {
		return nil
	}
	if r.calls.journal, err = journals.Open[answeredCall](ctx, shard.Calls()); err != nil {
		return err
	}
	if r.opts.ResumeFailed {
		if err := r.readFailed(ctx, before, done); err != nil {
			return err
		}
	}
	for c, err := range r.calls.journal.Rows(ctx) {
		if err != nil {
			return err
		}
		r.spending.Call(c.Answered.Call)
		task, slot, ok, err := r.opts.locate(done.tasks, finished{Run: r.opts.Run, ExampleID: c.ExampleID,
			Epoch: int32(r.opts.AtEpoch()), Generation: c.Generation})
		if err != nil {
			return err
		}
		if ok && c.Attempt > done.attempts(slot) {
			id := r.opts.id(c.ExampleID, c.Generation, done.tasks.At(task).Fork(c.Generation))
			r.calls.earlier[id] = append(r.calls.earlier[id], c.Answered)
		}
	}
	return nil
}

// notTheAgents are failures of the engine and the machine: a retry may go on there, and nothing
// is chosen by what the agent did.
var notTheAgents = []string{outcomes.FailEngine, outcomes.FailStart, outcomes.FailLimit, outcomes.FailCancelled}

// readFailed reads the answered calls of attempts that ended so, from the journal and from the
// dataset before, if there is one.
func (r *runner) readFailed(ctx context.Context, before *dataset.Dataset, done *done) error {
	sources := []iter.Seq2[*formats.Trajectory, error]{r.journal.Rows(ctx)}
	if before != nil {
		sources = append(sources, dataset.Each[formats.Trajectory](ctx, before, "", before.All()))
	}
	for _, rows := range sources {
		for t, err := range rows {
			if err != nil {
				return err
			}
			n := len(t.Calls)
			if t.FailureClass == outcomes.FailSecret { // its answers are redacted
				continue
			}
			if !slices.Contains(notTheAgents, t.FailureClass) && (n == 0 || t.Calls[n-1].Error == "") { // an agent may end because a call failed
				continue
			}
			_, slot, ok, err := r.opts.locate(done.tasks, keyOf(t))
			if err != nil {
				return err
			}
			if ok && done.failed[slot] == t.Attempts {
				r.calls.earlier[t.TrajectoryID] = slices.DeleteFunc(recorder.AnsweredOf(t), func(a recorder.Answered) bool {
					return t.Repeats(int(a.Index)) // its origin has it
				})
			}
		}
	}
	return nil
}

// resume returns what the recorder needs of an attempt's earlier calls and of the trajectory that
// it forks, and to keep its new ones.
func (r *runner) resume(ctx context.Context, t *formats.Trajectory) (out recorder.Resume, err error) {
	if c := r.calls; c.keeper != nil {
		out = recorder.Resume{Answered: c.earlier[t.TrajectoryID], Strict: r.opts.Resume == ResumeStrict,
			Keep: func(a recorder.Answered) {
				c.keeper.keep(answeredCall{t.ExampleID, t.Generation, t.Attempts, a})
			}}
	}
	if t.ForkCall != nil {
		out.Fork = *t.ForkCall
		out.Origin, err = r.origins.of(ctx, t.ForkedFrom)
	}
	return out, err
}

// Facts about calls that no engine was asked for.
const (
	factReplayed = "replayed_calls"
	factDiverged = "diverged_" // and a cause: attempts
)

// keepsCalls reports whether each call is journalled, with its cost.
func (o Options) keepsCalls() bool { return o.Resume != ResumeOff && o.asksEngine() }

// countsRows reports whether only a finished row says what it cost.
func (o Options) countsRows() bool { return o.pays() && !o.keepsCalls() }
