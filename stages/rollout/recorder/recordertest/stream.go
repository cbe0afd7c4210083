package recordertest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// stream writes a turn as server-sent events, a token each.
func (e *Engine) stream(w http.ResponseWriter, r *http.Request, t turn) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	chunks := e.chunks(t)
	for i, c := range chunks {
		if t.fault.Kind == HalfBody && i == len(chunks)/2 {
			fmt.Fprint(w, "data: {\"cho")
			flush()
			panic(http.ErrAbortHandler)
		}
		if t.fault.Kind == ErrorEvent && i == len(chunks)/2 {
			fmt.Fprint(w, "data: {\"error\":{\"message\":\"out of memory\"}}\n\n")
			return
		}
		if e.Pace != nil {
			select {
			case <-e.Pace(t.q, i):
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprintf(w, "data: %s\n\n", encode(t, c))
		flush()
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (e *Engine) chunks(t turn) (out []object) {
	chunk := func(delta object, finish any, from, to int) object {
		top := object{"id": t.id, "object": "chat.completion.chunk", "created": 1, "model": t.model,
			"service_note": "unknown field"}
		c := object{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": nil}
		if to > from {
			e.addTokens(t, c, delta, top, from, to)
			c["logprobs"] = e.logprobs(t, from, to)
		}
		top["choices"] = []object{c}
		return top
	}
	first := chunk(object{"role": "assistant", "content": ""}, nil, 0, 0)
	if e.PromptIDs && t.q.flag("return_token_ids") {
		first["prompt_token_ids"] = t.sample.Prompt
	}
	out = append(out, first)
	texts := t.texts()
	for i := range t.pieces {
		c := chunk(texts[i], nil, i, i+1)
		delete(c, "prompt_token_ids") // only the first chunk has them
		out = append(out, c)
	}
	out = append(out, chunk(object{}, t.finish(), 0, 0))
	if strings.Contains(string(t.q.Fields["stream_options"]), `"include_usage":true`) {
		out = append(out, object{"id": t.id, "object": "chat.completion.chunk", "model": t.model, "choices": []any{},
			"usage": usage(t)})
	}
	return out
}

// texts returns what each token adds to the message. A tool call's name comes
// whole with its first token, its arguments with the following ones.
func (t turn) texts() []object {
	out := make([]object, len(t.pieces))
	for i := range out {
		out[i] = object{}
	}
	at := 0
	if t.thought != "" {
		for i, p := range tokenize(t.thought) {
			out[i+1] = object{"reasoning_content": p}
		}
		at = len(tokenize(t.thought)) + 2
	}
	for _, p := range tokenize(t.reply.Content) {
		if at < len(out) {
			out[at] = object{"content": p}
		}
		at++
	}
	for i, c := range t.reply.ToolCalls {
		out[at] = object{"tool_calls": toolDelta(i, c.ID, c.Name, "")}
		at += 1 + len(tokenize(c.Name))
		for _, p := range tokenize(c.Arguments) {
			out[at] = object{"tool_calls": toolDelta(i, "", "", p)}
			at++
		}
	}
	return out
}

func toolDelta(i int, id, name, arguments string) []toolCall {
	c := toolCalls([]formats.ToolCall{{ID: id, Name: name, Arguments: arguments}}, true)
	c[0].Index = &i
	return c
}
