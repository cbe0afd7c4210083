package rollout

import (
	"slices"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
)

// hopeless are classes of which the engine is the cause, whatever the example.
var hopeless = []string{formats.FailEngine, formats.FailNoLogprobs, formats.FailLogprobMismatch, formats.FailBadLogprobs,
	formats.FailUnfinished, formats.FailModelMismatch, formats.FailEngineRefused}

// watch holds back the first trajectories while all of them fail at the
// engine, so that a run against a dead or unfit one ends early and leaves
// nothing that would have to be attempted again.
type watch struct {
	mu     sync.Mutex
	after  int // how many in a row are hopeless; negative: never
	held   []formats.Trajectory
	passed bool
}

// look returns the rows that may be kept now, or the error that ends the run.
func (w *watch) look(t formats.Trajectory) ([]formats.Trajectory, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.passed || w.after < 0 {
		return []formats.Trajectory{t}, nil
	}
	w.held = append(w.held, t)
	if !slices.Contains(hopeless, t.FailureClass) {
		return w.release(), nil
	}
	if len(w.held) >= w.after {
		return nil, unfit(w.held)
	}
	return nil, nil
}

func (w *watch) release() []formats.Trajectory {
	rows := w.held
	w.held, w.passed = nil, true
	return rows
}

// end is called after the last trajectory. fresh tells that nothing was kept
// before: then a run of nothing but engine failures is an error, too.
func (w *watch) end(fresh bool) ([]formats.Trajectory, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if fresh && len(w.held) > 0 {
		return nil, unfit(w.held)
	}
	return w.release(), nil
}

var advice = map[string]string{
	formats.FailEngine:          "is the engine up? look at its log, or try `rollmill check`; nothing was kept, so run the same command again",
	formats.FailEngineRefused:   "the engine refuses these requests; check --model, the key and the sampling fields",
	formats.FailNoLogprobs:      "start the engine so that it returns logprobs (vLLM and SGLang do by default; llama-server needs a build that supports them), or accept none with --no-logprobs",
	formats.FailLogprobMismatch: "the engine merges or drops logprobs, as llama-server does with incomplete UTF-8; train with another engine, or keep none with --no-logprobs",
	formats.FailBadLogprobs:     "the engine's logprobs are not numbers at most 0; its sampling is broken or modified",
	formats.FailUnfinished:      "the engine breaks its answers off; look at its log, or accept the finish reason with --accept-finish",
	formats.FailModelMismatch:   "another model answers, so its tokens are not the policy's; check --model and which adapters are loaded, or accept the name with --accept-model",
}

func unfit(rows []formats.Trajectory) error {
	last := rows[len(rows)-1]
	kind := stages.KindFailed
	if last.FailureClass == formats.FailEngine {
		kind = stages.KindTemporary
	}
	return stages.Errorf(kind, advice[last.FailureClass], "rollout: all of the first %d trajectories failed at the engine (%s): %s",
		len(rows), last.FailureClass, last.Error)
}
