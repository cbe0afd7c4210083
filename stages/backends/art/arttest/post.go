package arttest

import (
	"cmp"
	"encoding/json"
	"io"
	"net"
	"net/http"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

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

func key(args map[string]any) string {
	if k, ok := args["api_key"].(string); ok {
		return k
	}
	return "default"
}
