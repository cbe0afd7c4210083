package apis

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// responsesBody is an answer in the form of OpenAI's Responses API. What it repeats of the request follows it.
type responsesBody struct {
	ID         string            `json:"id"`
	Object     string            `json:"object"`
	Created    json.RawMessage   `json:"created_at"`
	Status     string            `json:"status"`
	Error      *string           `json:"error"`
	Incomplete map[string]string `json:"incomplete_details"` // its reason; nil for a whole answer
	Model      string            `json:"model"`
	Output     []*responsesItem  `json:"output"`
	Usage      responsesUsage    `json:"usage"`
}

type responsesUsage struct {
	Input        int32 `json:"input_tokens"`
	InputDetails struct {
		Cached int32 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int32 `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int32 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int32 `json:"total_tokens"`
}

// echoed are the fields of a response that repeat the request, with their defaults.
var echoed = jsontext.ParseObject([]byte(`{"instructions":null,"max_output_tokens":null,"metadata":{},"parallel_tool_calls":true,` +
	`"previous_response_id":null,"reasoning":null,"store":true,"temperature":null,"text":{"format":{"type":"text"}},"tool_choice":"auto",` +
	`"tools":[],"top_p":null,"truncation":"disabled","user":null}`))

// Encode returns an answer of chat completions as a response. Of several choices,
// which that API does not have, it returns the first.
func (responsesTranslator) Encode(q *Request, a *completion.Answer, visible []byte) []byte {
	top := jsontext.ParseObject(visible)
	m := &a.Choices[0].Message
	out := responsesBody{ID: q.ID, Object: "response", Created: []byte("0"), Status: "completed", Model: a.Model,
		Output: q.items(a, m, top)}
	if created := top.Get("created"); json.Valid(created) {
		out.Created = created
	}
	if reason := map[string]string{"length": "max_output_tokens",
		"content_filter": "content_filter"}[m.FinishReason]; reason != "" {
		out.Status, out.Incomplete = "incomplete", map[string]string{"reason": reason}
	}
	u := &out.Usage
	u.Input, u.Output, u.Total, u.InputDetails.Cached = a.Usage.Prompt, a.Usage.Completion, a.Usage.Prompt+
		a.Usage.Completion, a.Usage.Cached
	details := jsontext.ParseObject(jsontext.ParseObject(top.Get("usage")).Get("completion_tokens_details"))
	u.OutputDetails.Reasoning = completion.ParseCount(details.Get("reasoning_tokens"))
	o := jsontext.ParseObject(encode(out))
	for _, f := range echoed {
		if q.Original.Has(f.Key) {
			f.Raw = q.Original.Get(f.Key)
		}
		o.Set(f.Key, f.Raw)
	}
	return o.Bytes()
}

// Arguments returns what the agent sees of a call: of a custom tool, an input.
func (responsesTranslator) Arguments(q *Request, c *formats.ToolCall) string {
	if q.responses.custom[c.Name] {
		return string(customArguments(customInput(c.Arguments)))
	}
	return c.Arguments
}
