package arttest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

// routes are those of a dialect, with the method of each.
func routes(d Dialect) map[string]string {
	out := map[string]string{"/healthcheck": "GET"}
	for _, path := range []string{"/close", "/register", "/_get_step", "/_prepare_backend_for_training",
		"/_experimental_pull_from_s3"} {
		out[path] = "POST"
	}
	if d != Later {
		out["/_train_model"] = "POST"
	}
	if d == Frontend || d == Later {
		out["/_delete_checkpoint_files"] = "POST"
	} else {
		out["/_delete_checkpoints"] = "POST"
		out["/_log"] = "POST"
	}
	return out
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	d, f := s.get()
	s.mu.Lock()
	s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if f.AwayAfter && len(s.Batches()) > 0 {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path == "/openapi.json" && !f.NoOpenAPI {
		backendtest.JSON(w, 200, openapi(d))
		return
	}
	if r.URL.Path == art.TrainingRoute && f.Atomic {
		s.training(w, r)
		return
	}
	method, found := routes(d)[r.URL.Path]
	switch {
	case !found:
		detail(w, 404, "Not Found")
	case method != r.Method:
		detail(w, 405, "Method Not Allowed")
	case r.URL.Path == "/healthcheck":
		backendtest.JSON(w, 200, map[string]any{"status": "ok"})
	case r.URL.Path == "/_train_model":
		s.train(w, r, d, f)
	default:
		s.post(w, r, f)
	}
}

func (s *Server) post(w http.ResponseWriter, r *http.Request, f Faults) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.bodies[r.URL.Path] = append(s.bodies[r.URL.Path], body)
	s.mu.Unlock()
	switch r.URL.Path {
	case "/_prepare_backend_for_training":
		var req struct {
			Model  json.RawMessage `json:"model"`
			Config struct {
				Server map[string]any `json:"server_args"`
			} `json:"config"`
		}
		if !object(w, body, &req) || !needs(w, map[string]json.RawMessage{"model": req.Model}) ||
			!s.model(w, req.Model, true) {
			return
		}
		if f.NewPort {
			s.move()
		}
		host := cmp.Or(f.PrepareHost, "0.0.0.0")
		backendtest.JSON(w, 200, []string{"http://" + net.JoinHostPort(host, s.port()) + "/v1", key(req.Config.Server)})
	case "/_get_step", "/register":
		if s.model(w, body, r.URL.Path == "/_get_step") {
			if r.URL.Path == "/register" {
				backendtest.JSON(w, 200, nil)
				return
			}
			s.looked()
			backendtest.JSON(w, 200, s.latest())
		}
	case "/_delete_checkpoints":
		if q := r.URL.Query(); q.Get("benchmark") == "" || q.Get("benchmark_smoothing") == "" {
			detail(w, 422, []wrong{{"missing", []any{"query", "benchmark"}, "Field required"}})
			return
		}
		if s.model(w, body, true) {
			backendtest.JSON(w, 200, nil)
		}
	case "/_delete_checkpoint_files":
		var req struct {
			Model json.RawMessage `json:"model"`
			Steps json.RawMessage `json:"steps_to_keep"`
		}
		if object(w, body, &req) && needs(w, map[string]json.RawMessage{"model": req.Model, "steps_to_keep": req.Steps}) &&
			s.model(w, req.Model, true) {
			backendtest.JSON(w, 200, nil)
		}
	default:
		backendtest.JSON(w, 200, nil)
	}
}

func (s *Server) port() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strconv.Itoa(s.inference.Listener.Addr().(*net.TCPAddr).Port)
}

func key(args map[string]any) string {
	if k, ok := args["api_key"].(string); ok {
		return k
	}
	return "default"
}

// object reads a body that must be a JSON object.
func object(w http.ResponseWriter, body []byte, v any) bool {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) && json.Unmarshal(body, v) == nil {
		return true
	}
	detail(w, 422, []wrong{{"json_invalid", []any{"body"}, "JSON decode error"}})
	return false
}

// needs refuses a body that lacks a top-level key.
func needs(w http.ResponseWriter, keys map[string]json.RawMessage) bool {
	var missing []wrong
	for key, value := range keys {
		if value == nil {
			missing = append(missing, wrong{"missing", []any{"body", key}, "Field required"})
		}
	}
	if missing != nil {
		detail(w, 422, missing)
	}
	return missing == nil
}

// model reads a model as the server's constructor does: what is missing is an
// exception, not a refusal, and a null section crashes its first use.
func (s *Server) model(w http.ResponseWriter, body []byte, trainable bool) bool {
	var m map[string]any
	if !object(w, body, &m) {
		return false
	}
	_, name := m["name"].(string)
	_, project := m["project"].(string)
	_, base := m["base_model"].(string)
	if !name || !project || trainable && !base {
		crash(w)
		return false
	}
	internal, given := m["_internal_config"]
	sections, ok := internal.(map[string]any)
	if given && !ok {
		crash(w)
		return false
	}
	for _, section := range sections {
		if section == nil {
			crash(w)
			return false
		}
	}
	return true
}

func openapi(d Dialect) any {
	paths := map[string]any{}
	for path := range routes(d) {
		paths[path] = map[string]any{}
	}
	properties := map[string]any{"messages_and_choices": 0, "tools": 0, "reward": 0, "metrics": 0, "metadata": 0, "logs": 0}
	if d != V03 {
		properties["additional_histories"] = 0
	}
	if d == V05 || d == Frontend || d == Later {
		properties["auto_metrics"] = 0
	}
	if d == Frontend || d == Later {
		properties["initial_policy_version"] = 0
	}
	schemas := map[string]any{"Trajectory": map[string]any{"properties": properties}}
	return map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "FastAPI", "version": "0.1.0"}, "paths": paths,
		"components": map[string]any{"schemas": schemas}}
}
