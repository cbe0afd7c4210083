package teachertest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

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
