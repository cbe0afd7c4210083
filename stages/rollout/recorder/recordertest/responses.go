package recordertest

import (
	"encoding/json"
	"net/http"

	"github.com/rollmill/rollmill/formats"
)

// responses answers /v1/responses without a stream, as NeMo Gym's model servers
// do: the tokens of the whole turn are in its last item.
func (e *Engine) responses(w http.ResponseWriter, r *http.Request) {
	q := Request{Header: r.Header}
	if err := json.NewDecoder(r.Body).Decode(&q.Fields); err != nil {
		http.Error(w, `{"error":{"message":"not JSON"}}`, http.StatusBadRequest)
		return
	}
	q.Messages = items(q)
	e.mu.Lock()
	e.asked = append(e.asked, q)
	e.mu.Unlock()
	t := e.sample(q, Fault{})
	output := []object{}
	if t.thought != "" {
		output = append(output, object{"type": "reasoning", "id": "rs_1", "summary": []object{{"type": "summary_text", "text": t.thought}}})
	}
	if t.reply.Content != "" {
		output = append(output, object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": t.reply.Content, "annotations": []object{}}}})
	}
	for _, c := range t.reply.ToolCalls {
		output = append(output, object{"type": "function_call", "id": "fc_" + c.ID, "call_id": c.ID, "name": c.Name, "arguments": c.Arguments, "status": "completed"})
	}
	if len(output) > 0 {
		last := output[len(output)-1]
		last["prompt_token_ids"], last["generation_token_ids"], last["generation_log_probs"] = t.sample.Prompt, t.sample.IDs, t.sample.Logprobs
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(encode(t, object{"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": t.model, "output": output,
		"parallel_tool_calls": true, "tool_choice": "auto", "tools": []object{},
		"usage": object{"input_tokens": len(t.sample.Prompt), "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": len(t.pieces), "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": len(t.sample.Prompt) + len(t.pieces)}}))
}

// items reads the prompt of a responses request. Content in parts is the text of
// the parts.
func items(q Request) (out []formats.Message) {
	if text := q.Text("instructions"); text != "" {
		out = append(out, formats.Message{Role: "system", Content: text})
	}
	var list []struct {
		Type, Role, Name, Arguments string
		Content, Output             json.RawMessage
		CallID                      string `json:"call_id"`
	}
	if json.Unmarshal(q.Fields["input"], &list) != nil {
		return append(out, formats.Message{Role: "user", Content: q.Text("input")})
	}
	assistant := func() *formats.Message { // adjacent items are one turn
		if len(out) == 0 || out[len(out)-1].Role != "assistant" {
			out = append(out, formats.Message{Role: "assistant"})
		}
		return &out[len(out)-1]
	}
	for _, item := range list {
		switch {
		case item.Type == "function_call":
			m := assistant()
			m.ToolCalls = append(m.ToolCalls, formats.ToolCall{ID: item.CallID, Name: item.Name, Arguments: item.Arguments})
		case item.Type == "function_call_output":
			out = append(out, formats.Message{Role: "tool", ToolCallID: item.CallID, Content: joined(item.Output)})
		case item.Role == "assistant":
			assistant().Content += joined(item.Content)
		case item.Role != "":
			out = append(out, formats.Message{Role: item.Role, Content: joined(item.Content)})
		}
	}
	return out
}

// joined returns a text, or the texts of parts.
func joined(raw json.RawMessage) (text string) {
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			text += p.Text
		}
		return text
	}
	json.Unmarshal(raw, &text)
	return text
}
