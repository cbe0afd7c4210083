package rollout

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/storage/fault"
)

// hopeless are the failure classes that the engine causes, whatever the
// example.
var hopeless = []string{outcomes.FailEngine, outcomes.FailNoLogprobs, outcomes.FailLogprobMismatch, outcomes.FailBadLogprobs,
	outcomes.FailUnfinished, outcomes.FailModelMismatch, outcomes.FailEngineRefused}

// watch holds back the first trajectories while all of them fail, so that a
// run with a dead engine or a broken agent ends early and leaves nothing that
// would have to be attempted again.
type watch struct {
	mu     sync.Mutex
	after  int // how many initial failures are allowed; negative: any number
	held   []formats.Trajectory
	passed bool
	unfit  error // of the first `after`
}

// look returns the rows that may be kept now, or the error that ends the run.
func (w *watch) look(t formats.Trajectory) ([]formats.Trajectory, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.passed || w.after < 0 {
		return []formats.Trajectory{t}, nil
	}
	w.held = append(w.held, t)
	if t.Status != outcomes.StatusFailed {
		return w.release(), nil
	}
	if len(w.held) == w.after {
		w.unfit = unfit(w.held)
	}
	if len(w.held) >= w.after {
		return nil, w.unfit
	}
	return nil, nil
}

// pass returns the rows that were held back: nothing is held back from now on.
func (w *watch) pass() []formats.Trajectory {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.release()
}

func (w *watch) release() []formats.Trajectory {
	rows := w.held
	w.held, w.passed = nil, true
	return rows
}

// end is called after the last trajectory. fresh means that nothing was kept
// before: then a run of only engine failures is an error, too. A short run of
// other failures is a dataset, which the gate refuses.
func (w *watch) end(fresh bool) ([]formats.Trajectory, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if fresh && len(w.held) > 0 &&
		!slices.ContainsFunc(w.held, func(t formats.Trajectory) bool { return !slices.Contains(hopeless, t.FailureClass) }) {
		return nil, unfit(w.held)
	}
	return w.release(), nil
}

// othersWork reports whether another shard of the dataset has a durable trajectory that did not fail: then engine and
// agent work, as for one process that makes all shards. A dataset that cannot be read tells nothing.
func (r *runner) othersWork(ctx context.Context) bool {
	under, err := r.shard.Underway(ctx)
	if err != nil || under == nil {
		return false
	}
	for _, s := range under.Finished {
		m, err := under.Record(ctx, s)
		if err == nil && m.Counts[outcomes.StatusOK]+m.Counts[outcomes.StatusTruncated] > 0 {
			return true
		}
	}
	for _, s := range under.Segments {
		rows, err := seal.ReadSegment[finished](ctx, under, s)
		if err == nil && slices.ContainsFunc(rows, func(f finished) bool { return f.Status == outcomes.StatusOK || f.Status == outcomes.StatusTruncated }) {
			return true
		}
	}
	return false
}

var advice = map[string]string{
	outcomes.FailEngine: "is the engine up? look at its log, or try `rollmill check`; nothing was kept, so run the " +
		"same command again",
	outcomes.FailEngineRefused: "the engine refuses these requests; check --model, the key, the sampling fields and the " +
		"prompt's length",
	outcomes.FailAbandoned: "the agent gives up before the engine answers: raise the time-out of its client, or lower --concurrency; if it leaves " +
		"streams on purpose, --accept-left-streams keeps such trajectories",
	outcomes.FailNoLogprobs: "start the engine so that it returns logprobs (vLLM and SGLang do by default; " +
		"llama-server needs a build that supports them), or accept none with --no-logprobs",
	outcomes.FailLogprobMismatch: "the engine merges or drops logprobs, as llama-server does with incomplete UTF-8; train " +
		"with another engine, or keep none with --no-logprobs",
	outcomes.FailBadLogprobs: "the engine's logprobs are not numbers at most 0; its sampling is broken or modified",
	outcomes.FailUnfinished: "the engine breaks its answers off; look at its log, or accept the finish reason with " +
		"--accept-finish",
	outcomes.FailModelMismatch: "another model answers, so its tokens are not the policy's; check --model and which " +
		"adapters are loaded, or accept the name with --accept-model",
	outcomes.FailAgentExit: "the agent fails before it does anything: mend it (`rollmill check` starts it once) and run " +
		"the same command again, since nothing was kept; --max-initial-failures -1 goes on all the same",
	outcomes.FailAgentOutput: "the agent does not answer as its protocol says (`rollmill rollout --help`); nothing was " +
		"kept, so mend it and run the same command again",
	outcomes.FailTimeout: "raise --trajectory-timeout, or see with --agent-logs what the agent waits for; nothing was kept",
	outcomes.FailNoCalls: "the agent has to ask the model where OPENAI_BASE_URL says, and --target-model and " +
		"--target-function have to name calls that it makes; nothing was kept",
	outcomes.FailExample:  "do the examples have the fields that --system, --user or --request name? nothing was kept",
	outcomes.FailTooLarge: "the agent sends more than a row of a dataset holds, such as many screenshots; nothing was kept",
}

// unfit returns the error of a run whose first trajectories all failed. The
// most frequent class decides its kind and hint.
func unfit(rows []formats.Trajectory) error {
	counts := map[string]int{}
	for i := range rows {
		counts[rows[i].FailureClass]++
	}
	classes := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, class := range classes {
		classes[i] = fmt.Sprintf("%d %s", counts[class], class)
	}
	class := strings.Fields(classes[0])[1]
	last := slices.IndexFunc(rows, func(t formats.Trajectory) bool { return t.FailureClass == class })
	kind := fault.Failed
	if class == outcomes.FailEngine {
		kind = fault.Temporary
	}
	return fault.Errorf(kind, advice[class], "rollout: all of the first %d trajectories failed (%s): %s", len(rows),
		strings.Join(classes, ", "), rows[last].Error)
}
