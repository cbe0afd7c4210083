package arttest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

// move starts another inference server.
func (s *Server) move() {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.inference
	s.inference = httptest.NewServer(http.HandlerFunc(s.infer))
	old.CloseClientConnections()
	old.Close()
}

// infer is the inference port: the list of models, and their names.
func (s *Server) infer(w http.ResponseWriter, r *http.Request) {
	d, f := s.get()
	name := "trainer_run"
	if posted := s.Bodies("/register"); len(posted) > 0 {
		var m art.Model
		_ = json.Unmarshal(posted[len(posted)-1], &m)
		name = m.Name
	}
	if d == Frontend && !f.BareNames {
		name = fmt.Sprintf("%s@%d", name, s.latest())
	}
	switch {
	case r.URL.Path == "/v1/models":
		backendtest.JSON(w, 200, map[string]any{"object": "list", "data": []any{map[string]any{"id": name, "object": "model"}}})
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		var body struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		if body.Model != name {
			backendtest.JSON(w, 404, map[string]any{"error": map[string]any{"message": fmt.Sprintf("The model `%s` does not exist.",
				body.Model), "code": 404}})
			return
		}
		backendtest.JSON(w, 200, map[string]any{"model": name, "choices": []any{}})
	default:
		detail(w, 404, "Not Found")
	}
}

func (s *Server) port() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strconv.Itoa(s.inference.Listener.Addr().(*net.TCPAddr).Port)
}
