package openai

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// hot is the temperature of the request that finds out what the engine's logprobs are of.
const hot = 2

// logprobsMode finds out whether an engine's logprobs are those of the model or of the
// distribution that is sampled: formats.LogprobsRaw or LogprobsProcessed, "" if unknown. It
// samples one token after a prompt at a temperature other than 1, and then has the model
// evaluate the same token as part of a prompt. In processed logprobs the difference between two
// tokens is that of the model divided by the temperature. Only the choice between the two
// matters, not the numbers, since engines compute prompts and samples with different rounding.
//
// It takes two requests of one token; one is enough if the engine does not know completions, or
// does not name tokens by ids. An engine that refuses them is left as before.
func (c Client) logprobsMode(ctx context.Context, baseURL, apiKey, model string, prompt []int32) string {
	sampled := c.completion(ctx, baseURL, apiKey,
		map[string]any{"model": model, "prompt": prompt, "max_tokens": 1, "temperature": hot, "top_p": 1,
			"logprobs": 5, "return_tokens_as_token_ids": true})
	if sampled == nil || len(sampled.Logprobs.Tokens) == 0 || len(sampled.Logprobs.Top) == 0 {
		return ""
	}
	id, named := tokenID(sampled.Logprobs.Tokens[0])
	if !named {
		return ""
	}
	judged := c.completion(ctx, baseURL, apiKey,
		map[string]any{"model": model, "prompt": append(prompt[:len(prompt):len(prompt)], id), "max_tokens": 1,
			"temperature":     1,
			"prompt_logprobs": 5})
	if judged == nil || len(judged.Prompt) != len(prompt)+1 {
		return ""
	}
	return compareSpread(sampled.Logprobs.Top[0], judged.Prompt[len(prompt)])
}

// compareSpread compares the two tokens that are farthest apart according to the model.
func compareSpread(sampled map[string]float64, model map[string]judgedToken) string {
	low, high := math.Inf(1), math.Inf(-1)
	var lowest, highest float64
	for name, logprob := range sampled {
		id, named := tokenID(name)
		m, both := model[strconv.Itoa(int(id))]
		if !named || !both {
			continue
		}
		if m.Logprob < low {
			low, lowest = m.Logprob, logprob
		}
		if m.Logprob > high {
			high, highest = m.Logprob, logprob
		}
	}
	const minSpread = 0.2 // nearer ones prove nothing
	if !(high-low > minSpread) {
		return ""
	}
	switch ratio := (highest - lowest) / (high - low); {
	case math.Abs(ratio-1) < 0.2:
		return formats.LogprobsRaw
	case math.Abs(ratio-1.0/hot) < 0.2:
		return formats.LogprobsProcessed
	}
	return ""
}

// tokenID reads the name of a token under return_tokens_as_token_ids.
func tokenID(name string) (int32, bool) {
	digits, ok := strings.CutPrefix(name, "token_id:")
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), ok && err == nil
}

type judgedToken struct {
	Logprob float64 `json:"logprob"`
}

// judgedCompletion is the part of a completion that is read.
type judgedCompletion struct {
	Logprobs struct {
		Tokens []string             `json:"tokens"`
		Top    []map[string]float64 `json:"top_logprobs"`
	} `json:"logprobs"`
	Prompt []map[string]judgedToken `json:"prompt_logprobs"` // by the token's id
}

// completion makes one request; it returns nil for any answer that is of no use here.
func (c Client) completion(ctx context.Context, baseURL, apiKey string, fields map[string]any) *judgedCompletion {
	var answer struct {
		Choices []judgedCompletion `json:"choices"`
	}
	service := remote.Client{HTTP: c.http(), MaxBytes: maxError,
		Sign: func(r *http.Request) { remote.Authorize(r, apiKey) }}
	_, err := service.Do(ctx,
		remote.Request{Method: http.MethodPost, URL: baseURL + "/completions", JSON: fields, Limit: -1}, &answer)
	if err != nil || len(answer.Choices) == 0 {
		return nil
	}
	return &answer.Choices[0]
}
