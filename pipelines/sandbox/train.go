package sandbox

import (
	"encoding/json"
	"errors"
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
	if err := j.run(w); err != nil {
		s.opts.Log.Error("training broke off", "model", j.key.String(), "error", err)
		panic(http.ErrAbortHandler)
	}
}

// readJob checks the request; if it is refused, it answers and returns nil.
func (s *Server) readJob(w http.ResponseWriter, r *http.Request) *job {
	body := struct {
		Model  trainable         `json:"model"`
		Groups []trajectoryGroup `json:"trajectory_groups"`
		Config json.RawMessage   `json:"config"`
		Dev    dev               `json:"dev_config"`
	}{}
	if !readBody(w, r, &body) {
		return nil
	}
	settings := settings{LearningRate: 5e-6}
	err := body.Model.check(true)
	if err == nil {
		err = check(body.Groups)
	}
	if err == nil && (json.Unmarshal(body.Config, &settings) != nil || string(body.Config) == "null") {
		err = errors.New("config: must be an object with numbers")
	}
	if err != nil {
		writeDetail(w, http.StatusUnprocessableEntity, err.Error())
		return nil
	}
	settings.dev = body.Dev
	m, err := s.ensure(body.Model.key(), body.Model.Base)
	if err != nil {
		s.fail(w, "beginning to train", err)
		return nil
	}
	return &job{
		server: s, model: m, key: body.Model.key(), name: r.Header.Get(submissionHeader),
		groups: body.Groups, settings: settings,
		reader: reader{settings.AllowWithoutLogprobs, body.Model.maxSeqLength()},
	}
}

// run trains a copy, sends a line after each step, and commits the copy.
func (j *job) run(w http.ResponseWriter) error {
	batch, err := newBatch(j.groups, j.reader, j.settings.ScaleRewards == nil || *j.settings.ScaleRewards)
	if err != nil {
		return err
	}
	next := j.model.newest().next()
	learner := newLearner(next.policy(), j.server.base, &next.Optimiser, j.settings.rules(j.server.opts.LearningRateScale))
	steps := gradientSteps(batch, j.server.opts.GradientSteps)
	for _, part := range steps {
		j.send(w, learner.step(part), len(steps))
	}
	return j.commit(next, batch)
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

// send records a metric line and writes it.
func (j *job) send(w http.ResponseWriter, m metrics, steps int) {
	line, err := json.Marshal(map[string]float64{
		"loss": m.loss, "policy_loss": m.policyLoss, "kl_div": m.kl, "entropy": m.entropy, "grad_norm": m.gradNorm,
		"learning_rate": j.settings.LearningRate, "num_gradient_steps": float64(steps),
	})
	if err != nil { // not finite; Python would write NaN
		line = []byte(`{"loss":NaN,"num_gradient_steps":` + strconv.Itoa(steps) + `}`)
	}
	line = append(line, '\n')
	j.lines = append(j.lines, line)
	w.Write(line)
	flush(w)
}

// commit makes the new weights durable and then serves them. A batch without a
// training signal advances the step all the same, as in ART 0.4.
func (j *job) commit(next *checkpoint, batch []episode) error {
	if j.server.beforeCommit != nil {
		j.server.beforeCommit()
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

// settings are config and dev_config of a training call.
type settings struct {
	LearningRate float64 `json:"learning_rate"`
	Beta         float64 `json:"beta"`
	dev
}

type dev struct {
	AllowWithoutLogprobs bool     `json:"allow_training_without_logprobs"`
	Epsilon              *float64 `json:"epsilon"`
	EpsilonHigh          *float64 `json:"epsilon_high"`
	ScaleRewards         *bool    `json:"scale_rewards"`
}

// rules converts the settings for the learner.
func (s settings) rules(scale float64) rules {
	r := rules{rate: s.LearningRate * scale, low: 0.2, penalty: s.Beta}
	set(&r.low, s.Epsilon)
	r.high = r.low
	set(&r.high, s.EpsilonHigh)
	return r
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
