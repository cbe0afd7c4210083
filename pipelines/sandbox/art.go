package sandbox

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// control returns the routes of an ART server 0.3 to 0.5.7.
func (s *Server) control() map[string]map[string]http.HandlerFunc {
	return map[string]map[string]http.HandlerFunc{
		"/healthcheck": {http.MethodGet: func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, 200, map[string]string{"status": "ok"})
		}},
		"/openapi.json":                  {http.MethodGet: s.openAPI},
		"/register":                      {http.MethodPost: s.register},
		"/_get_step":                     {http.MethodPost: s.getStep},
		"/_prepare_backend_for_training": {http.MethodPost: s.prepare},
		"/_train_model":                  {http.MethodPost: s.train},
		"/_log":                          {http.MethodPost: s.logBatch},
		"/_delete_checkpoints":           {http.MethodPost: s.deleteCheckpoints},
		"/close":                         {http.MethodPost: func(w http.ResponseWriter, _ *http.Request) { writeNull(w) }},
	}
}

// openAPI lists the routes; clients recognise the version by them.
func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) {
	paths := map[string]map[string]any{}
	for path, methods := range s.routes {
		if strings.HasPrefix(path, "/v1/") || path == "/openapi.json" {
			continue
		}
		paths[path] = map[string]any{}
		for method := range methods {
			paths[path][strings.ToLower(method)] = map[string]any{
				"responses": map[string]any{"200": map[string]string{"description": "Successful Response"}},
			}
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"openapi": "3.1.0", "info": map[string]string{"title": "FastAPI", "version": "0.1.0"}, "paths": paths,
	})
}

// trainable is a TrainableModel.
type trainable struct {
	Name     string `json:"name"`
	Project  string `json:"project"`
	Base     string `json:"base_model"`
	Internal struct {
		Init struct {
			Length int `json:"max_seq_length"`
		} `json:"init_args"`
	} `json:"_internal_config"`
}

func (t trainable) key() modelKey { return modelKey{t.Project, t.Name} }

func (t trainable) check(needsBase bool) error {
	if t.Name == "" || t.Project == "" || needsBase && t.Base == "" {
		return errors.New("a model needs a name, a project and a base_model")
	}
	return nil
}

func (t trainable) maxSeqLength() int {
	if n := t.Internal.Init.Length; n > 0 {
		return n
	}
	return 32768
}

// readBody reads a JSON object; otherwise it answers the request and returns false.
func readBody(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(r.Body).Decode(into)
	if r.Context().Err() != nil { // the client has disconnected
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		writeDetail(w, http.StatusUnprocessableEntity, "the body: "+err.Error())
	}
	return err == nil
}

// bodyModel reads a body that is itself a model object.
func bodyModel(w http.ResponseWriter, r *http.Request, needsBase bool) (t trainable, ok bool) {
	if !readBody(w, r, &t) {
		return t, false
	}
	return t, usable(w, t, needsBase)
}

func usable(w http.ResponseWriter, t trainable, needsBase bool) bool {
	err := t.check(needsBase)
	if err != nil {
		writeDetail(w, http.StatusUnprocessableEntity, err.Error())
	}
	return err == nil
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	t, ok := bodyModel(w, r, false)
	if !ok {
		return
	}
	if _, err := s.ensure(t.key(), t.Base); err != nil {
		s.fail(w, "registering a model", err)
		return
	}
	writeNull(w)
}

func (s *Server) fail(w http.ResponseWriter, what string, err error) {
	s.opts.Log.Error(what, "error", err)
	http.Error(w, "Internal Server Error", http.StatusInternalServerError)
}

// getStep waits for a running training call, so that its answer is not outdated.
func (s *Server) getStep(w http.ResponseWriter, r *http.Request) {
	t, ok := bodyModel(w, r, true)
	if !ok {
		return
	}
	m := s.find(t.key())
	if m == nil {
		writeJSON(w, http.StatusOK, 0)
		return
	}
	s.traffic.settle(r.Context(), t.key(), 10*settleTime)
	writeJSON(w, http.StatusOK, m.newest().Step)
}

// prepare answers with the policy's address and key: config.server_args.api_key, or its default.
func (s *Server) prepare(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Model  trainable `json:"model"`
		Config struct {
			ServerArgs struct {
				APIKey *string `json:"api_key"`
			} `json:"server_args"`
		} `json:"config"`
	}{}
	if !readBody(w, r, &body) || !usable(w, body.Model, true) {
		return
	}
	if _, err := s.ensure(body.Model.key(), body.Model.Base); err != nil {
		s.fail(w, "preparing a model", err)
		return
	}
	key := "default"
	set(&key, body.Config.ServerArgs.APIKey)
	if s.opts.APIKey != "" {
		key = s.opts.APIKey
	}
	writeJSON(w, http.StatusOK, []string{"http://" + r.Host + "/v1", key})
}

func (s *Server) logBatch(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Model  trainable         `json:"model"`
		Groups []trajectoryGroup `json:"trajectory_groups"`
		Split  string            `json:"split"`
	}{Split: "val"}
	if !readBody(w, r, &body) || !usable(w, body.Model, false) {
		return
	}
	if err := check(body.Groups); err != nil {
		writeDetail(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	m, err := s.ensure(body.Model.key(), body.Model.Base)
	if err == nil {
		err = m.log(s.opts.Dir, body.Model.key(), averages(m.newest().Step, body.Split, body.Groups))
	}
	if err != nil {
		s.fail(w, "logging a batch", err)
		return
	}
	writeNull(w)
}

// deleteCheckpoints keeps the newest checkpoint and the best by a benchmark.
func (s *Server) deleteCheckpoints(w http.ResponseWriter, r *http.Request) {
	benchmark := r.URL.Query().Get("benchmark")
	smoothing, err := strconv.ParseFloat(r.URL.Query().Get("benchmark_smoothing"), 64)
	if err != nil || benchmark == "" {
		writeDetail(w, http.StatusUnprocessableEntity, "a benchmark and a benchmark_smoothing, a number, are required")
		return
	}
	t, ok := bodyModel(w, r, true)
	if !ok {
		return
	}
	if m := s.find(t.key()); m != nil {
		best := m.best(benchmark, smoothing)
		m.busy.Lock()
		defer m.busy.Unlock()
		if err := m.keepOnly(s.opts.Dir, best); err != nil {
			s.fail(w, "deleting checkpoints", err)
			return
		}
	}
	writeNull(w)
}
