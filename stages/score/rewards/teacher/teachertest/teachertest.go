// Package teachertest has an engine for tests of teachers.
package teachertest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Start starts an engine, which ends with the test.
func Start(t *testing.T) *Engine {
	e := &Engine{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/completions", e.completions)
	mux.HandleFunc("POST /generate", e.generate)
	mux.HandleFunc("POST /tokenize", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []struct{ Role, Content string }
			Add      *bool `json:"add_generation_prompt"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) != 1 || q.Messages[0].Role != "system" || *q.Add {
			http.Error(w, "bad", 400)
			return
		}
		ids := []int32{1}
		for _, c := range []byte(q.Messages[0].Content) {
			ids = append(ids, int32(c))
		}
		answer(w, map[string]any{"count": len(ids), "max_model_len": 4096, "tokens": ids})
	})
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.Spoil == nil || !e.Spoil(w) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(e.Close)
	return e
}
