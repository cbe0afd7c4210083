package arttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/art/wiretest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

// train reads a batch. It continues after the client has disconnected, which is
// the worse of the two things that a real server may do.
func (s *Server) train(w http.ResponseWriter, r *http.Request, d Dialect, f Faults) {
	s.mu.Lock()
	s.busy++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.busy--
		s.mu.Unlock()
	}()
	if f.Discard {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			s.answer(w, &Batch{Token: r.Header.Get(art.SubmissionHeader)}, true, true, f)
		}
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away: the framework never calls the handler
	}
	var req struct {
		Model  json.RawMessage `json:"model"`
		Groups json.RawMessage `json:"trajectory_groups"`
		Config json.RawMessage `json:"config"`
		Dev    json.RawMessage `json:"dev_config"`
	}
	if !object(w, body, &req) ||
		!needs(w, map[string]json.RawMessage{"model": req.Model, "trajectory_groups": req.Groups, "config": req.Config,
			"dev_config": req.Dev}) {
		return
	}
	groups, err := validate(req.Groups)
	if err != nil {
		detail(w, 422, []wrong{{"value_error", []any{"body", "trajectory_groups"}, err.Error()}})
		return
	}
	if !s.model(w, req.Model, true) {
		return
	}
	if f.TrainStatus != 0 {
		refuse(w, f)
		return
	}
	b := Batch{Token: r.Header.Get(art.SubmissionHeader), Raw: body, Groups: groups}
	_ = json.Unmarshal(req.Model, &b.Model)
	_ = json.Unmarshal(req.Config, &b.Config)
	_ = json.Unmarshal(req.Dev, &b.Dev)
	trainable, sound := b.look(d)
	trainable = trainable && !f.Untrainable
	if f.Atomic && !s.admit(b.Token) {
		detail(w, 409, "this submission was trained before")
		return
	}
	if f.Received != nil {
		f.Received(b.Token)
	}
	if f.StatusAfter != 0 {
		s.save(&b, 1, f)
		f.TrainStatus = f.StatusAfter
		refuse(w, f)
		return
	}
	if f.Hold != nil {
		w.Header()["Content-Type"] = nil
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-f.Hold
	}
	s.answer(w, &b, trainable, sound, f)
}

// refuse answers as the server does, or as a proxy before it.
func refuse(w http.ResponseWriter, f Faults) {
	if f.Proxy {
		http.Error(w, "refused by the proxy", f.TrainStatus)
		return
	}
	detail(w, f.TrainStatus, "refused")
}

// admit takes each submission once.
func (s *Server) admit(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, seen := s.trained[token]; seen {
		return false
	}
	s.trained[token] = -1
	return true
}

// answer streams the metric lines. The checkpoint is saved after the last
// line and before the end of the answer.
func (s *Server) answer(w http.ResponseWriter, b *Batch, trainable, sound bool, f Faults) {
	const steps = 3                  // gradient steps of a batch
	w.Header()["Content-Type"] = nil // the handler sets none
	broken := func() {
		if f.TrainsOn > 0 {
			s.save(b, 1, f)
		} else {
			s.keep(b, false, 0)
		}
		w.(http.Flusher).Flush() // and with it the status, 200
		panic(http.ErrAbortHandler)
	}
	switch {
	case !sound:
		broken()
	case !trainable:
		advance := int64(1)
		if f.StayUntrained {
			advance = 0
		}
		if d, _ := s.get(); d == Frontend {
			fmt.Fprintln(w, `{"data/step_num_groups_trainable": 0.0, "data/step_trainer_tokens": 0.0, "data/step_num_gradient_steps": 0.0}`)
		}
		s.keep(b, false, advance)
		return
	case f.CloseBefore:
		s.save(b, 1, f)
		panic(http.ErrAbortHandler)
	}
	for i := range steps - f.LinesMissing {
		if f.CloseAfter != nil && i == *f.CloseAfter {
			broken()
		}
		fmt.Fprintf(w, "%s\n", line(i, steps, f))
		w.(http.Flusher).Flush()
	}
	if f.CloseUnsaved {
		broken()
	}
	advance := int64(1)
	switch {
	case f.StepStays:
		advance = 0
	case f.StepJumps:
		advance = 2
	}
	s.save(b, advance, f)
	if f.CloseSaved {
		panic(http.ErrAbortHandler)
	}
}

func line(i, steps int, f Faults) string {
	loss, key, more := "0.031", "num_gradient_steps", ""
	if f.NaN && i == 1 {
		loss = "NaN"
	}
	if f.StepsKey != "" {
		key = f.StepsKey
	}
	if f.LongLine {
		more = `,"note":"` + strings.Repeat("NaN ", 50_000) + `"`
	}
	return fmt.Sprintf(`{"loss": %s, "grad_norm": 0.42, "learning_rate": 5e-06, "policy_loss": -0.002, %q: %d%s}`, loss, key,
		steps, more)
}

// save keeps a batch that is trained, now or after its answer has ended.
func (s *Server) save(b *Batch, advance int64, f Faults) {
	if f.TrainsOn == 0 {
		s.keep(b, true, advance)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later, s.looks = b, f.TrainsOn
}

// looked counts a look at the step.
func (s *Server) looked() {
	s.mu.Lock()
	b := s.later
	if b != nil {
		if s.looks--; s.looks > 0 {
			b = nil
		} else {
			s.later = nil
		}
	}
	s.mu.Unlock()
	if b != nil {
		s.keep(b, true, 1)
	}
}

func (s *Server) keep(b *Batch, trained bool, advance int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.Trained = trained
	s.step += advance
	s.batches = append(s.batches, *b)
	s.more.Broadcast()
	if trained {
		s.trained[b.Token] = s.step
	} else {
		delete(s.trained, b.Token)
	}
}

// training reports the outcome of a submission.
func (s *Server) training(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := art.TrainingState{Atomic: true, Step: s.step, Busy: s.busy > 0}
	if step, ok := s.trained[r.URL.Query().Get("submission")]; ok && step >= 0 {
		state.TrainedAtStep = &step
	}
	backendtest.JSON(w, 200, state)
}

// look reads a batch as the trainer's tokenizer does. sound is false where
// Python would raise.
func (b *Batch) look(d Dialect) (trainable, sound bool) {
	sound = true
	for _, g := range b.Groups {
		rewards := make([]float64, len(g.Trajectories))
		for i, t := range g.Trajectories {
			rewards[i] = *t.Reward
		}
		for i, advantage := range art.Advantages(rewards, true) {
			if advantage == 0 {
				continue
			}
			t := g.Trajectories[i]
			histories := []wiretest.History{t.History}
			if d != V03 {
				histories = append(histories, t.AdditionalHistories...)
			}
			for _, h := range histories {
				some, ok := b.history(h, d)
				trainable, sound = trainable || some, sound && ok
			}
		}
	}
	return trainable, sound
}

func (b *Batch) history(h wiretest.History, d Dialect) (trainable, sound bool) {
	if d == V05 || d == Frontend {
		return b.plain(h)
	}
	last := -1
	for i, e := range h.Entries {
		if e.Choice != nil && e.Choice.Logprobs != nil {
			last = i
		}
	}
	for _, e := range h.Entries[:last+1] {
		switch {
		case e.Choice == nil:
			if e.Message.Role == "assistant" && d != V03 {
				b.Plain++
			}
		case e.Choice.Logprobs == nil, len(e.Choice.Logprobs.Content) == 0:
			return false, false // AssertionError, IndexError
		default:
			for _, t := range e.Choice.Logprobs.Content {
				id, ok := tokenID(t.Token)
				if !ok {
					return false, false // ValueError
				}
				b.Tokens = append(b.Tokens, id)
			}
		}
	}
	return last >= 0, true
}

// tokenID returns the number in "token_id:<n>".
func tokenID(token string) (int32, bool) {
	digits, found := strings.CutPrefix(token, "token_id:")
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), found && err == nil && n >= 0
}

// plain reads a history where a choice arrives as a plain object.
func (b *Batch) plain(h wiretest.History) (trainable, sound bool) {
	allowed, _ := b.Dev["allow_training_without_logprobs"].(bool)
	for _, e := range h.Entries {
		switch {
		case e.Choice != nil:
			return false, false // KeyError: 'role'
		case e.Message.Role != "assistant" || !allowed:
		case len(e.Message.ToolCalls) > 0:
			return false, false // ValueError
		default:
			b.Plain++
			b.Texts = append(b.Texts, e.Message.Content)
			trainable = true
		}
	}
	return trainable, true
}
