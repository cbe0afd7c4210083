package teachertest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
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
