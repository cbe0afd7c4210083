// Package teachertest has an engine for tests of teachers.
package teachertest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
)

// Engine is a server with the routes of a vLLM (version 0.32) and an SGLang (0.5) that a
// teacher needs. Its model finds each id as probable as the ids before it say.
type Engine struct {
	*httptest.Server
	Asked atomic.Int64
	Texts func(id int32) string          // nil: none
	Spoil func(http.ResponseWriter) bool // true: it has answered in place of the engine
}

// Logprob is that of the last of some ids, a float32 as engines have it.
func Logprob(ids []int32) float64 {
	h := fnv.New32a()
	for _, id := range ids {
		fmt.Fprintf(h, "%d ", id)
	}
	return float64(-float32(h.Sum32()%100_000) / 7_000)
}

// Ranked returns the k most probable ids after some ids, the best first.
func Ranked(ids []int32, k int) (out []int32) {
	for id := range int32(50) {
		out = append(out, id)
	}
	at := func(id int32) float64 { return Logprob(append(slices.Clone(ids), id)) }
	slices.SortStableFunc(out, func(a, b int32) int {
		if d := at(b) - at(a); d != 0 {
			return map[bool]int{true: 1, false: -1}[d > 0]
		}
		return int(a - b)
	})
	return out[:k]
}

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

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (e *Engine) text(id int32) any {
	if e.Texts == nil {
		return nil
	}
	return e.Texts(id)
}

func (e *Engine) completions(w http.ResponseWriter, r *http.Request) {
	e.Asked.Add(1)
	var q struct {
		Model  string
		Prompt []int32
		Max    int  `json:"max_tokens"`
		K      *int `json:"prompt_logprobs"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.K == nil || q.Max < 1 {
		http.Error(w, `{"error":{"message":"bad request"}}`, 400)
		return
	}
	list := []any{nil}
	for i := 1; i < len(q.Prompt); i++ {
		at := map[string]any{}
		say := func(id int32, rank int) {
			at[strconv.Itoa(int(id))] = map[string]any{"logprob": Logprob(append(slices.Clone(q.Prompt[:i]), id)), "rank": rank, "decoded_token": e.text(id)}
		}
		say(q.Prompt[i], 99)
		for rank, id := range Ranked(q.Prompt[:i], *q.K) {
			say(id, rank+1)
		}
		list = append(list, at)
	}
	answer(w, map[string]any{"object": "text_completion", "choices": []any{map[string]any{"index": 0, "text": "x", "prompt_logprobs": list}}})
}

func (e *Engine) generate(w http.ResponseWriter, r *http.Request) {
	e.Asked.Add(1)
	var q struct {
		IDs   []int32 `json:"input_ids"`
		Want  bool    `json:"return_logprob"`
		Start int     `json:"logprob_start_len"`
		K     int     `json:"top_logprobs_num"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || !q.Want || q.Start != 0 {
		http.Error(w, "bad request", 400)
		return
	}
	own, top := []any{[]any{nil, q.IDs[0], nil}}, []any{nil}
	for i := 1; i < len(q.IDs); i++ {
		own = append(own, []any{Logprob(q.IDs[:i+1]), q.IDs[i], e.text(q.IDs[i])})
		best := []any{}
		for _, id := range Ranked(q.IDs[:i], q.K) {
			best = append(best, []any{Logprob(append(slices.Clone(q.IDs[:i]), id)), id, nil})
		}
		top = append(top, best)
	}
	meta := map[string]any{"prompt_tokens": len(q.IDs), "completion_tokens": 0, "input_token_logprobs": own}
	if q.K > 0 {
		meta["input_top_logprobs"] = top
	}
	answer(w, map[string]any{"text": "", "meta_info": meta})
}
