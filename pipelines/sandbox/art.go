package sandbox

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
)

// control returns ART's routes, by dialect.
func (s *Server) control() map[string]map[string]http.HandlerFunc {
	routes := map[string]map[string]http.HandlerFunc{
		"/healthcheck": {http.MethodGet: func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, 200, map[string]string{"status": "ok"})
		}},
		"/openapi.json":                  {http.MethodGet: s.openAPI},
		"/register":                      {http.MethodPost: s.register},
		"/_get_step":                     {http.MethodPost: s.getStep},
		"/_prepare_backend_for_training": {http.MethodPost: s.prepare},
		"/close":                         {http.MethodPost: func(w http.ResponseWriter, _ *http.Request) { writeNull(w) }},
	}
	if s.opts.Dialect != Inference {
		routes["/_train_model"] = map[string]http.HandlerFunc{http.MethodPost: s.train}
	}
	if s.opts.Dialect == Legacy {
		routes["/_log"] = map[string]http.HandlerFunc{http.MethodPost: s.logBatch}
		routes["/_delete_checkpoints"] = map[string]http.HandlerFunc{http.MethodPost: s.deleteCheckpoints}
	} else {
		routes["/_delete_checkpoint_files"] = map[string]http.HandlerFunc{http.MethodPost: s.deleteCheckpointFiles}
	}
	return routes
}

// bodyModel reads a body that is itself a model object.
func bodyModel(w http.ResponseWriter, r *http.Request, needsBase bool) (trainable, bool) {
	keys := object(w, r)
	if keys == nil {
		return trainable{}, false
	}
	return readTrainable(w, keys, needsBase, "body")
}

// withModel reads a body with a model object under "model", and with further keys.
func withModel(w http.ResponseWriter, r *http.Request, needsBase bool, more ...string) (keys map[string]json.RawMessage,
	t trainable, ok bool) {
	var model map[string]json.RawMessage
	keys = object(w, r, append([]string{"model"}, more...)...)
	switch {
	case keys == nil:
		return nil, t, false
	case json.Unmarshal(keys["model"], &model) != nil || model == nil:
		unprocessable(w, noObject(keys["model"], "body", "model"))
		return nil, t, false
	}
	t, ok = readTrainable(w, model, needsBase, "body", "model")
	return keys, t, ok
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	t, ok := bodyModel(w, r, false)
	if !ok {
		return
	}
	if _, err := s.ensure(t.key, t.base); err != nil {
		s.fail(w, "registering a model", err)
		return
	}
	writeNull(w)
}

func (s *Server) fail(w http.ResponseWriter, what string, err error) {
	s.opts.Log.Error(what, "error", err)
	internalError(w)
}

// getStep waits for a running training call, so that its answer is not
// outdated.
func (s *Server) getStep(w http.ResponseWriter, r *http.Request) {
	t, ok := bodyModel(w, r, true)
	if !ok {
		return
	}
	m := s.find(t.key)
	if m == nil {
		writeJSON(w, http.StatusOK, 0)
		return
	}
	s.traffic.settle(r.Context(), t.key, 10*settleTime)
	writeJSON(w, http.StatusOK, m.newest().Step)
}

func (s *Server) prepare(w http.ResponseWriter, r *http.Request) {
	keys, t, ok := withModel(w, r, true, "config")
	if !ok {
		return
	}
	key, bad := serverKey(keys["config"])
	if bad != nil {
		unprocessable(w, *bad)
		return
	}
	if t.brokenConfig() {
		internalError(w)
		return
	}
	if _, err := s.ensure(t.key, t.base); err != nil {
		s.fail(w, "preparing a model", err)
		return
	}
	if s.opts.APIKey != "" {
		key = s.opts.APIKey
	}
	writeJSON(w, http.StatusOK, []string{"http://" + s.prepareHost(r) + "/v1", key})
}

// prepareHost returns the host reported for inference: with PrepareHost, a bind
// address as a real server reports it.
func (s *Server) prepareHost(r *http.Request) string {
	if s.opts.PrepareHost == "" {
		return r.Host
	}
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		return s.opts.PrepareHost
	}
	return net.JoinHostPort(s.opts.PrepareHost, port)
}

// serverKey returns config.server_args.api_key, or its default, "default".
func serverKey(config json.RawMessage) (string, *invalid) {
	c := struct {
		LogFile    *string `json:"log_file"`
		ServerArgs struct {
			APIKey *string `json:"api_key"`
			Host   *string `json:"host"`
			Port   *int    `json:"port"`
		} `json:"server_args"`
		EngineArgs map[string]json.RawMessage `json:"engine_args"`
	}{}
	if err := json.Unmarshal(config, &c); err != nil {
		bad := wrongType("model_type", "Input should be a valid OpenAIServerConfig: "+err.Error(), config, "body", "config")
		return "", &bad
	}
	key := "default"
	set(&key, c.ServerArgs.APIKey)
	return key, nil
}

func (s *Server) logBatch(w http.ResponseWriter, r *http.Request) {
	keys, t, ok := withModel(w, r, false, "trajectory_groups")
	if !ok {
		return
	}
	groups, bad := readGroups(keys["trajectory_groups"])
	if bad != nil {
		unprocessable(w, bad...)
		return
	}
	split := "val"
	json.Unmarshal(keys["split"], &split)
	m, err := s.ensure(t.key, t.base)
	if err == nil {
		err = m.log(s.opts.Dir, t.key, averages(m.newest().Step, split, groups))
	}
	if err != nil {
		s.fail(w, "logging a batch", err)
		return
	}
	writeNull(w)
}

// deleteCheckpoints keeps the newest checkpoint and the best by a benchmark.
func (s *Server) deleteCheckpoints(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	var bad []invalid
	for _, name := range []string{"benchmark", "benchmark_smoothing"} {
		if !query.Has(name) {
			bad = append(bad, missing(nil, "query", name))
		}
	}
	smoothing, err := strconv.ParseFloat(query.Get("benchmark_smoothing"), 64)
	if bad == nil && err != nil {
		bad = append(bad, wrongType("float_parsing", "Input should be a valid number, unable to parse string as a number",
			nil, "query", "benchmark_smoothing"))
	}
	if bad != nil {
		unprocessable(w, bad...)
		return
	}
	if t, ok := bodyModel(w, r, true); ok {
		s.keep(w, t.key, func(m *model) []int { return []int{m.best(query.Get("benchmark"), smoothing)} })
	}
}

func (s *Server) deleteCheckpointFiles(w http.ResponseWriter, r *http.Request) {
	keys, t, ok := withModel(w, r, true, "steps_to_keep")
	if !ok {
		return
	}
	var steps []int
	if json.Unmarshal(keys["steps_to_keep"], &steps) != nil {
		unprocessable(w, wrongType("list_type", "Input should be a valid list", keys["steps_to_keep"], "body",
			"steps_to_keep"))
		return
	}
	s.keep(w, t.key, func(*model) []int { return steps })
}

// keep removes the checkpoints of a model, if there is one, but for some steps.
func (s *Server) keep(w http.ResponseWriter, key modelKey, steps func(*model) []int) {
	if m := s.find(key); m != nil {
		keep := steps(m)
		m.busy.Lock()
		defer m.busy.Unlock()
		if err := m.keepOnly(s.opts.Dir, keep...); err != nil {
			s.fail(w, "deleting checkpoints", err)
			return
		}
	}
	writeNull(w)
}
