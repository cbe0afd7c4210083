package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// submissionHeader names a training call, so that it is carried out once.
const submissionHeader = "X-Rollmill-Submission"

// job is a running training call.
type job struct {
	server   *Server
	model    *model
	key      modelKey
	name     string // of the submission; "" for none
	groups   []trajectoryGroup
	settings settings
	reader   reader
	fault    *Fault
	over     lifted
	lines    [][]byte
}

// train answers POST /_train_model. An error after the stream has begun can
// only break the stream off, as in the real server.
func (s *Server) train(w http.ResponseWriter, r *http.Request) {
	known, leave := s.traffic.arrive()
	defer leave()
	j := s.readJob(w, r)
	if j == nil {
		return
	}
	known(j.key)
	if j.name != "" {
		s.counts.add("submission", j.name)
	}
	if j.fault, j.over = s.faults.next(&s.faults.faults.Train); j.fault.is(TrainStatus) {
		w.WriteHeader(j.fault.Status)
		return
	}
	j.model.busy.Lock()
	defer j.model.busy.Unlock()
	w.Header()["Content-Type"] = nil // the handler sets none
	w.WriteHeader(http.StatusOK)
	flush(w)
	if done, ok := j.model.newest().Submissions[j.name]; ok && j.name != "" {
		for _, line := range done.Lines {
			w.Write(line)
		}
		return
	}
	if j.fault.is(TrainDelay) {
		s.wait(r, j.fault.Millis)
	}
	if err := j.run(w); err != nil {
		s.opts.Log.Error("training broke off", "model", j.key.String(), "error", err)
		panic(http.ErrAbortHandler)
	}
}

// readJob checks the request; if it is refused, it answers and returns nil.
func (s *Server) readJob(w http.ResponseWriter, r *http.Request) *job {
	keys, t, ok := withModel(w, r, true, "trajectory_groups", "config", "dev_config")
	if !ok {
		return nil
	}
	groups, bad := readGroups(keys["trajectory_groups"])
	settings, worse := readSettings(keys["config"], keys["dev_config"])
	if bad = append(bad, worse...); bad != nil {
		unprocessable(w, bad...)
		return nil
	}
	m, err := s.ensure(t.key, t.base)
	if err != nil || t.brokenConfig() {
		s.fail(w, "beginning to train", err)
		return nil
	}
	return &job{
		server: s, model: m, key: t.key, name: r.Header.Get(submissionHeader),
		groups: groups, settings: settings,
		reader: reader{settings.AllowWithoutLogprobs, t.maxSeqLength()},
	}
}

// run trains a copy, sends a line after each step, and commits the copy.
func (j *job) run(w http.ResponseWriter) error {
	if err := j.brokenByDialect(); err != nil {
		return err
	}
	batch, err := newBatch(j.groups, j.reader, j.settings.ScaleRewards == nil || *j.settings.ScaleRewards)
	if err != nil {
		return err
	}
	next := j.model.newest().next()
	if j.fault.is(TrainZero) {
		if batch = nil; !j.fault.Commit {
			return nil
		}
	}
	learner := newLearner(next.policy(), j.server.base, &next.Optimiser, j.settings.rules(j.server.opts.LearningRateScale))
	steps := gradientSteps(batch, j.server.opts.GradientSteps)
	for i, part := range steps {
		if j.fault.is(TrainDrop) && j.fault.Lines == i {
			return j.breakOff(next, batch, learner, steps[i:])
		}
		j.send(w, learner.step(part), len(steps))
	}
	if j.fault.is(TrainDrop) {
		return j.breakOff(next, batch, learner, nil)
	}
	return j.commit(next, batch)
}

// breakOff ends the stream early, and still trains to the end if the fault only
// hides the result from the client.
func (j *job) breakOff(next *checkpoint, batch []episode, l *learner, rest [][]sample) error {
	broken := fmt.Errorf("a fault was asked for after %d lines", len(j.lines))
	if !j.fault.Commit {
		return broken
	}
	steps := len(rest) + len(j.lines)
	for _, part := range rest {
		j.send(nil, l.step(part), steps)
	}
	if err := j.commit(next, batch); err != nil {
		return err
	}
	return broken
}

// brokenByDialect returns the error of every Choice between 0.5.3 and 0.5.17:
// it arrives as a plain object without a role.
func (j *job) brokenByDialect() error {
	if j.server.opts.Dialect != Frontend {
		return nil
	}
	for _, g := range j.groups {
		for _, t := range g.Trajectories {
			for _, h := range t.histories() {
				if slices.ContainsFunc(h.Entries, func(e entry) bool { return e.isChoice() }) {
					return fmt.Errorf("KeyError: 'role'")
				}
			}
		}
	}
	return nil
}

// next returns a copy to train on.
func (c *checkpoint) next() *checkpoint {
	n := *c
	n.Step++
	n.Weights = slices.Clone(c.Weights)
	n.Optimiser.Mean = slices.Clone(c.Optimiser.Mean)
	n.Optimiser.Square = slices.Clone(c.Optimiser.Square)
	n.Submissions = maps.Clone(c.Submissions)
	if n.Submissions == nil {
		n.Submissions = map[string]submission{}
	}
	return &n
}

// send records a metric line and writes it, unless w is nil.
func (j *job) send(w http.ResponseWriter, m metrics, steps int) {
	line, err := json.Marshal(map[string]float64{
		"loss": m.loss, "policy_loss": m.policyLoss, "kl_div": m.kl, "entropy": m.entropy, "grad_norm": m.gradNorm,
		"learning_rate": j.settings.LearningRate, j.server.stepsKey(): float64(steps),
	})
	if err != nil { // not finite; Python would write NaN
		line = []byte(`{"loss":NaN,"` + j.server.stepsKey() + `":` + strconv.Itoa(steps) + `}`)
	}
	line = append(line, '\n')
	j.lines = append(j.lines, line)
	if w == nil {
		return
	}
	if j.fault.is(TrainNaN) {
		line = bytes.Replace(line, []byte(`"loss":`), []byte(`"loss":NaN,"real_loss":`), 1)
	}
	w.Write(line)
	flush(w)
}

func (s *Server) stepsKey() string {
	if s.opts.Dialect == Frontend {
		return "data/step_num_gradient_steps"
	}
	return "num_gradient_steps"
}

// commit makes the new weights durable and then serves them. A batch without a
// training signal advances the step all the same, as in ART 0.4.
func (j *job) commit(next *checkpoint, batch []episode) error {
	if j.fault.is(TrainHold) {
		select {
		case <-j.over:
		case <-j.server.stopping:
			return fmt.Errorf("the server ends before the commit")
		}
	}
	if slices.ContainsFunc(next.Weights, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		return fmt.Errorf("the weights are no longer finite")
	}
	next.Trainings++
	for _, e := range batch {
		next.TrainedTokens += int64(len(e.tokens))
	}
	if j.name != "" {
		next.Submissions[j.name] = submission{Step: next.Step, Lines: j.lines}
	}
	if err := next.save(j.server.opts.Dir); err != nil {
		return err
	}
	j.model.advance(next)
	if err := j.model.log(j.server.opts.Dir, j.key, averages(next.Step, "train", j.groups)); err != nil {
		j.server.opts.Log.Warn("the batch was trained on, but not added to the history", "error", err)
	}
	return nil
}

// settleTime is how long a question about a submission waits for a running
// training call before the answer is that it is busy.
const settleTime = 2 * time.Second

// training answers GET /_rollmill/training: whether a submission was trained
// on. It waits a little for a running training call, unless wait=0.
func (s *Server) training(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	key := modelKey{query.Get("project"), query.Get("model")}
	patience := settleTime
	if query.Get("wait") == "0" {
		patience = 0
	}
	busy := s.traffic.settle(r.Context(), key, patience)
	state := trainingState{Atomic: true, Busy: busy, Submission: query.Get("submission")}
	if m := s.find(key); m != nil {
		now := m.newest()
		state.Step = now.Step
		if done, ok := now.Submissions[state.Submission]; ok && state.Submission != "" {
			state.TrainedAtStep = &done.Step
		}
	}
	writeJSON(w, http.StatusOK, state)
}

// trainingState says that a submission either produced a step, durably, or left
// no trace; and which step.
type trainingState struct {
	Atomic        bool   `json:"atomic"`
	Step          int    `json:"step"`
	Busy          bool   `json:"busy"`
	Submission    string `json:"submission,omitempty"`
	TrainedAtStep *int   `json:"trained_at_step"`
}
