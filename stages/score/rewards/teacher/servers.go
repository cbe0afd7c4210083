package teacher

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
)

// The kinds of servers.
const (
	vllm   = "vllm"
	sglang = "sglang"
)

// servers ask for what an engine says of each place of a prompt of ids.
var servers = map[string]func(*reward, context.Context, []int32) ([]place, error){
	vllm: (*reward).vllm, sglang: (*reward).sglang,
}

// maxTop is the largest K. vLLM allows 20 by default (--max-logprobs).
const maxTop = 1024

// place is what the engine says of one place in a prompt.
type place struct {
	known   bool // false at the first, which follows nothing
	logprob float64
	text    string // of the id there; "" if unknown
	top     []token
}

type token struct {
	id      int32
	logprob float64
}

// set sets the log probability, unless it is not one.
func (p *place) set(logprob *float64) {
	if logprob != nil && isLogprob(*logprob) {
		p.known, p.logprob = true, *logprob
	}
}

func isLogprob(x float64) bool { return x >= -math.MaxFloat32 && x <= score.RoundedUp }

func (p *place) add(id int32, logprob float64) error {
	if id < 0 || !isLogprob(logprob) {
		return failed(outcomes.RewardAnswer, "the answer has an alternative with id %d and log probability %v; an id is at least 0, "+
			"a log probability at most 0", id, logprob)
	}
	p.top = append(p.top, token{id, logprob})
	return nil
}

// vllm asks a vLLM's completions for prompt_logprobs, and for one token, since it gives
// none without.
func (r *reward) vllm(ctx context.Context, ids []int32) ([]place, error) {
	type entry struct {
		Logprob *float64 `json:"logprob"`
		Rank    int      `json:"rank"`
		Text    string   `json:"decoded_token"`
	}
	var answer struct {
		Choices []struct {
			Prompt []map[string]entry `json:"prompt_logprobs"`
		} `json:"choices"`
	}
	err := r.post(ctx, "/completions",
		map[string]any{"model": r.Model, "prompt": ids, "max_tokens": 1, "temperature": 0, "prompt_logprobs": int(r.TopK)}, &answer)
	if err != nil {
		return nil, err
	}
	if len(answer.Choices) == 0 || answer.Choices[0].Prompt == nil {
		return nil, failed(outcomes.RewardAnswer, "the answer has no prompt_logprobs; is it a vLLM?")
	}
	out := make([]place, len(answer.Choices[0].Prompt))
	for i, at := range answer.Choices[0].Prompt[:min(len(out), len(ids))] {
		own := at[strconv.Itoa(int(ids[i]))]
		out[i].text = own.Text
		out[i].set(own.Logprob)
		for id, e := range at {
			if n, err := strconv.ParseInt(id, 10, 32); err == nil && e.Rank <= int(r.TopK) && e.Logprob != nil {
				if err := out[i].add(int32(n), *e.Logprob); err != nil {
					return nil, err
				}
			}
		}
		slices.SortFunc(out[i].top, func(a, b token) int { return cmp.Or(cmp.Compare(b.logprob, a.logprob), int(a.id)-int(b.id)) })
	}
	return out, nil
}

// sglang asks an SGLang's generate for the prompt's log probabilities, and for no token.
func (r *reward) sglang(ctx context.Context, ids []int32) ([]place, error) {
	var answer struct {
		Meta struct {
			Own []sglangToken   `json:"input_token_logprobs"`
			Top [][]sglangToken `json:"input_top_logprobs"`
		} `json:"meta_info"`
	}
	err := r.post(ctx, "/generate", map[string]any{"input_ids": ids, "sampling_params": map[string]any{"max_new_tokens": 0, "temperature": 0},
		"return_logprob": true, "logprob_start_len": 0, "top_logprobs_num": int(r.TopK), "return_text_in_logprobs": true}, &answer)
	if err != nil {
		return nil, err
	}
	if answer.Meta.Own == nil {
		return nil, failed(outcomes.RewardAnswer, "the answer has no input_token_logprobs; is it an SGLang?")
	}
	out := make([]place, len(answer.Meta.Own))
	for i, t := range answer.Meta.Own[:min(len(out), len(ids))] {
		if t.id != ids[i] {
			return nil, failed(outcomes.RewardAnswer, "the answer has id %d where the prompt has %d", t.id, ids[i])
		}
		out[i].text = t.text
		out[i].set(t.logprob)
		if i < len(answer.Meta.Top) {
			for _, t := range answer.Meta.Top[i] {
				if t.logprob != nil {
					if err := out[i].add(t.id, *t.logprob); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return out, nil
}

// sglangToken is a list of a log probability, an id and a text; the first and the last
// may be null.
type sglangToken struct {
	logprob *float64
	id      int32
	text    string
}

func (t *sglangToken) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&t.logprob, &t.id, &t.text})
}

// hintIDs returns the ids of a system message in the teacher's chat template.
func (r *reward) hintIDs(ctx context.Context, hint string) ([]int32, error) {
	var answer struct {
		Tokens []int32 `json:"tokens"`
	}
	root := *r
	root.url = strings.TrimSuffix(r.url, "/v1")
	err := root.post(ctx, "/tokenize", map[string]any{"model": r.Model, "add_generation_prompt": false,
		"messages": []map[string]string{{"role": "system", "content": hint}}}, &answer)
	if err == nil && len(answer.Tokens) == 0 {
		err = failed(outcomes.RewardAnswer, "/tokenize gave no ids of the hint")
	}
	return answer.Tokens, err
}
