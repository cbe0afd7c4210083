// Package judgetest is a server of chat completions that answers as a judge
// would, and misbehaves on request, for tests of rewards that ask one.
package judgetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/stages/score"
)

// Server is the judge. Answer, if set, may replace its answer.
type Server struct {
	URL    string
	Asked  atomic.Int64
	Answer func(r Request, say string) (status int, text string)

	mu    sync.Mutex
	users []string
}

// Request is a request that it got.
type Request struct {
	Model    string `json:"model"`
	Seed     int64  `json:"seed"`
	Messages []struct{ Role, Content string }
	Format   Format `json:"response_format"`
}

// Format is the requested structured output.
type Format struct {
	Type   string `json:"type"`
	Schema struct {
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// User returns the question; in a second request, an answer was sent back.
func (r Request) User() string { return r.Messages[1].Content }

// SentBack reports whether an answer was sent back.
func (r Request) SentBack() bool { return len(r.Messages) > 2 }

// Labels returns the trajectories of a group's question.
func (r Request) Labels() []string {
	var out []string
	for _, m := range trajectory.FindAllStringSubmatch(r.User(), -1) {
		out = append(out, m[1])
	}
	return out
}

var trajectory = regexp.MustCompile(`(?s)<trajectory id="([^"]+)">\n(.*?)\n</trajectory>`)

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
		"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 10},
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
	return fmt.Sprintf(`{"explanation":"so","score":%v}`, Points(r.User()))
}

// Points returns the score of a text, from 0 to 1.
func Points(text string) float64 {
	sum := sha256.Sum256([]byte(text))
	return float64(sum[0]) / 255
}

// Judging returns a Judging with the server, a store in memory and a ledger;
// ask sends the requests.
func (s *Server) Judging(ask Ask) score.Judging {
	return score.Judging{Asker: asker{ask, s.URL}, Store: &store{}, Ledger: &score.Ledger{}}
}

// Ask asks the server at a URL.
type Ask func(ctx context.Context, url string, q score.Question) (score.Reply, error)

type asker struct {
	ask Ask
	url string
}

func (a asker) Ask(ctx context.Context, q score.Question) (score.Reply, error) {
	return a.ask(ctx, a.url, q)
}

type store struct{ m sync.Map }

func (s *store) Get(_ context.Context, key string) ([]byte, bool, error) {
	v, ok := s.m.Load(key)
	if !ok {
		return nil, false, nil
	}
	return v.([]byte), true, nil
}

func (s *store) Put(_ context.Context, key string, value []byte) error {
	s.m.Store(key, value)
	return nil
}
