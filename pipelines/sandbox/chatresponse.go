package sandbox

import "strconv"

type chatResponse struct {
	ID             string       `json:"id"`
	Object         string       `json:"object"`
	Created        int64        `json:"created"`
	Model          string       `json:"model"`
	Fingerprint    string       `json:"system_fingerprint"` // "step-<n>": which weights answered
	Choices        []chatChoice `json:"choices"`
	Usage          *usage       `json:"usage,omitempty"`
	PromptTokenIDs []int        `json:"prompt_token_ids,omitempty"`
}

type chatChoice struct {
	Index        int            `json:"index"`
	Message      *chatText      `json:"message,omitempty"`
	Delta        *chatText      `json:"delta,omitempty"` // in a stream, in place of the message
	Logprobs     *tokenLogprobs `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
	StopReason   *string        `json:"stop_reason"` // the stop string that was met
	TokenIDs     []int          `json:"token_ids,omitempty"`
}

type chatText struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content"` // null in a message of tool calls
	Refusal   *string    `json:"refusal,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type tokenLogprobs struct {
	Content []tokenLogprob `json:"content"`
}

type tokenLogprob struct {
	Token   string          `json:"token"`
	Logprob float64         `json:"logprob"`
	Bytes   []int           `json:"bytes"`
	Top     *[]tokenLogprob `json:"top_logprobs,omitempty"` // an alternative has none
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// noChance is the logprob of a token that cannot be drawn, as in vLLM, because
// JSON has no infinity.
const noChance = -9999.0

func count(prompt int, answers []answer) *usage {
	u := usage{PromptTokens: prompt}
	for _, a := range answers {
		u.CompletionTokens += len(a.ids)
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return &u
}

// logprobs renders the tokens [from, to) of an answer.
func (r *chatRequest) logprobs(a answer, from, to int) *tokenLogprobs {
	if !r.Logprobs {
		return nil
	}
	out := tokenLogprobs{Content: make([]tokenLogprob, 0, to-from)}
	for i := from; i < to; i++ {
		t := r.token(a.ids[i], a.logprobs[i])
		top := []tokenLogprob{}
		if a.tops != nil {
			for _, alt := range a.tops[i] {
				top = append(top, r.token(alt.id, alt.logprob))
			}
		}
		t.Top = &top
		out.Content = append(out.Content, t)
	}
	return &out
}

func (r *chatRequest) token(id int, logprob float64) tokenLogprob {
	text := tokenText(id)
	t := tokenLogprob{Token: text, Logprob: max(logprob, noChance), Bytes: make([]int, len(text))}
	for i := range len(text) {
		t.Bytes[i] = int(text[i])
	}
	if r.ReturnTokensAsTokenIDs {
		t.Token = "token_id:" + strconv.Itoa(id)
	}
	return t
}
