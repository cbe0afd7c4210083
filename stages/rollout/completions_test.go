package rollout_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"

	"github.com/rollmill/rollmill/formats"
)

// completions answers completions of token ids with one token, as vLLM does: with
// the logprobs of its mode, and with those of the prompt, which are the model's
// in every mode.
type completions struct {
	mode  string // as vLLM's --logprobs-mode says; "": it has no completions
	asked atomic.Int64
}

type object = map[string]any

func (e *completions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.asked.Add(1)
	var q struct {
		Prompt      []int32 `json:"prompt"`
		Temperature float64 `json:"temperature"`
		AsIDs       bool    `json:"return_tokens_as_token_ids"`
		Judge       *int    `json:"prompt_logprobs"`
	}
	if e.mode == "" || json.NewDecoder(r.Body).Decode(&q) != nil {
		http.Error(w, `{"error":{"message":"not found"}}`, http.StatusNotFound)
		return
	}
	name := func(id int32) string {
		if q.AsIDs {
			return fmt.Sprint("token_id:", id)
		}
		return fmt.Sprint("t", id)
	}
	first := next(q.Prompt, 1)
	sampled := first
	if e.mode == formats.LogprobsProcessed {
		sampled = next(q.Prompt, q.Temperature)
	}
	top, chosen := object{}, int32(3)
	for id, logprob := range sampled {
		top[name(int32(id))] = logprob
	}
	choice := object{"index": 0, "text": "x", "finish_reason": "length",
		"logprobs": object{"tokens": []string{name(chosen)}, "token_logprobs": []float64{sampled[chosen]},
			"top_logprobs": []object{top}}}
	if q.Judge != nil {
		list := []object{nil}
		for at := 1; at < len(q.Prompt); at++ {
			one := object{}
			for id, logprob := range next(q.Prompt[:at], 1) {
				one[fmt.Sprint(id)] = object{"logprob": logprob + 0.01, "rank": 1, "decoded_token": "x"} // rounded otherwise
			}
			list = append(list, one)
		}
		choice["prompt_logprobs"] = list
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"id": "cmpl-1", "object": "text_completion", "model": "",
		"choices": []object{choice}})
}

// next returns the distribution of five tokens after a prompt.
func next(prompt []int32, temperature float64) [5]float64 {
	var out [5]float64
	sum := 0.0
	for id := range out {
		out[id] = float64((len(prompt)*7+id*3)%5) / temperature
		sum += math.Exp(out[id])
	}
	for id := range out {
		out[id] -= math.Log(sum)
	}
	return out
}
