package arttest

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/rollmill/rollmill/formats/foreign/art"
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
