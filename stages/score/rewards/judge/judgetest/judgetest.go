// Package judgetest is a server of chat completions that answers as a judge
// would, and misbehaves on request, for tests of rewards that ask one.
package judgetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Server is the judge. Answer, if set, may replace its answer. Of each prompt's 100 tokens so many were Cached.
type Server struct {
	URL    string
	Asked  atomic.Int64
	Answer func(r Request, say string) (status int, text string)
	Cached int

	mu    sync.Mutex
	users []string
}

// New starts a server. Scores depend only on the content, by a digest.
func New(t testing.TB) *Server {
	s := &Server{}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL + "/v1"
	return s
}

// Questions returns the questions, without those that were sent back.
func (s *Server) Questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.users...)
}

func (s *Server) serve(w http.ResponseWriter, req *http.Request) {
	s.Asked.Add(1)
	var r Request
	if err := json.NewDecoder(req.Body).Decode(&r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !r.SentBack() {
		s.mu.Lock()
		s.users = append(s.users, r.User())
		s.mu.Unlock()
	}
	status, text := http.StatusOK, say(r)
	if s.Answer != nil {
		status, text = s.Answer(r, text)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if status != http.StatusOK {
		fmt.Fprintf(w, `{"error":{"message":%q}}`, text)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"finish_reason": "stop",
			"message": map[string]any{"role": "assistant", "content": text}}},
		"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 10,
			"prompt_tokens_details": map[string]any{"cached_tokens": s.Cached}},
	})
}

func say(r Request) string {
	if labels := trajectory.FindAllStringSubmatch(r.User(), -1); labels != nil {
		var scores []string
		for _, m := range labels {
			scores = append(scores, fmt.Sprintf(`{"trajectory_id":%q,"explanation":"so","score":%v}`, m[1], Points(m[2])))
		}
		return `{"scores":[` + strings.Join(scores, ",") + `]}`
	}
	if items := r.Items(); items != nil {
		var scores []string
		for _, name := range items {
			scores = append(scores, fmt.Sprintf(`%q:{"reason":"as %s","score":%v}`, name, name, Points(name+r.User())))
		}
		return "{" + strings.Join(scores, ",") + "}"
	}
	return fmt.Sprintf(`{"explanation":"so","score":%v}`, Points(r.User()))
}

// Points returns the score of a text, from 0 to 1.
func Points(text string) float64 {
	sum := sha256.Sum256([]byte(text))
	return float64(sum[0]) / 255
}
