package recordertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
)

// turn is one answer before it is written out.
type turn struct {
	id      string
	q       Request
	fault   Fault
	model   string
	reply   Reply
	thought string
	pieces  []string
	sample  Sample
}

func (e *Engine) answer(w http.ResponseWriter, r *http.Request, q Request, fault Fault) {
	t := e.sample(q, fault)
	if q.flag("stream") {
		e.stream(w, r, t)
		return
	}
	turns := []turn{t}
	var n int
	for json.Unmarshal(q.Fields["n"], &n); len(turns) < n; {
		q.Choice = len(turns)
		turns = append(turns, e.sample(q, fault))
	}
	body := e.body(turns...)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "engine-request")
	if fault.Kind == HalfBody {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body[:len(body)/2])
		return
	}
	if fault.Kind == Drip {
		drip(w, r, body)
		return
	}
	w.Write(body)
}

func (e *Engine) sample(q Request, fault Fault) turn {
	t := turn{q: q, fault: fault, model: cmp.Or(e.Model, q.Text("model")), reply: e.say(q)}
	if fault.Kind == BaseModel {
		t.model = "base/model"
	}
	if t.reply.Finish == "" {
		t.reply.Finish = "stop"
		if len(t.reply.ToolCalls) > 0 {
			t.reply.Finish = "tool_calls"
		}
	}
	if e.Reasoning {
		t.thought = "let me see"
	}
	t.pieces = tokenTexts(t.thought, t.reply.Content, t.reply.ToolCalls)
	var maxTokens int
	if json.Unmarshal(q.Fields["max_tokens"], &maxTokens); maxTokens > 0 && maxTokens < len(t.pieces) {
		t.pieces, t.reply.Finish = t.pieces[:maxTokens], "length"
		t.reply.Content = truncated(t.reply.Content, maxTokens)
	}
	t.sample = Sample{Prompt: ids(render(q.Messages)), IDs: ids(t.pieces), Content: t.reply.Content}
	for i, p := range t.pieces {
		t.sample.Logprobs = append(t.sample.Logprobs, logprob(t.sample.Prompt, i, p))
	}
	e.mu.Lock()
	e.log = append(e.log, t.sample)
	t.id = fmt.Sprint("chatcmpl-", len(e.log))
	e.mu.Unlock()
	return t
}

// finish is the answer's finish reason; outcomes.NoFinishReason stands for null.
func (t turn) finish() any {
	if t.reply.Finish == outcomes.NoFinishReason {
		return nil
	}
	return t.reply.Finish
}

type object = map[string]any

func (e *Engine) body(turns ...turn) []byte {
	t := turns[0]
	top := object{"id": t.id, "object": "chat.completion", "created": 1, "model": t.model,
		"service_note": "unknown field",
		"usage":        usage(turns...)}
	choices := []object{}
	for i, t := range turns {
		choices = append(choices, e.choice(t, i, top))
	}
	top["choices"] = choices
	return encode(t, top)
}

func (e *Engine) choice(t turn, index int, top object) object {
	message := object{"role": "assistant", "content": t.reply.Content, "engine_says": "kept"}
	if t.thought != "" {
		message["reasoning_content"] = t.thought
	}
	if calls := toolCalls(t.reply.ToolCalls, false); calls != nil {
		message["tool_calls"] = calls
	}
	c := object{"index": index, "message": message, "finish_reason": t.finish()}
	e.addTokens(t, c, message, top, 0, len(t.pieces))
	c["logprobs"] = e.logprobs(t, 0, len(t.pieces))
	return c
}

func usage(turns ...turn) object {
	prompt, completion := len(turns[0].sample.Prompt), 0
	for _, t := range turns {
		completion += len(t.pieces)
	}
	return object{"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
		"prompt_tokens_details": object{"cached_tokens": 2}}
}

// notANumber is replaced by a bare NaN, which encoding/json cannot write.
const notANumber = -123456

func encode(t turn, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if t.fault.Kind == NaN {
		return []byte(strings.ReplaceAll(string(b), fmt.Sprint(notANumber), "NaN"))
	}
	return b
}

// addTokens adds the ids of tokens [from,to) in the engine's place for them.
func (e *Engine) addTokens(t turn, choice, message, top object, from, to int) {
	got := t.sample.IDs[from:to]
	if t.fault.Kind == BadIDs && to == len(t.sample.IDs) {
		got = got[:len(got)-1]
	}
	asked := t.q.flag("return_token_ids")
	switch e.Source {
	case schema.TokensChoice:
		if asked {
			choice["token_ids"] = got
		}
	case schema.TokensResponse:
		if asked {
			choice["response_token_ids"] = got
		}
	case schema.TokensMetaInfo:
		triples := [][]any{}
		for i := range got {
			triples = append(triples, []any{t.sample.Logprobs[from+i], got[i], nil})
		}
		choice["meta_info"] = object{"output_token_logprobs": triples}
	case schema.TokensMessage:
		message["generation_token_ids"] = got
		message["generation_log_probs"] = t.sample.Logprobs[from:to]
	}
	if e.PromptIDs && asked && from == 0 {
		top["prompt_token_ids"] = t.sample.Prompt
	}
}

func (e *Engine) logprobs(t turn, from, to int) any {
	if !t.q.flag("logprobs") || t.fault.Kind == NoLogprobs {
		return nil
	}
	list := []object{}
	for i := from; i < to; i++ {
		entry := object{"token": t.pieces[i], "logprob": t.sample.Logprobs[i], "bytes": byteList(t.pieces[i]),
			"top_logprobs": []any{}}
		switch {
		case e.Source == schema.TokensInLogprobs && t.q.flag("return_tokens_as_token_ids"):
			entry["token"] = fmt.Sprintf("token_id:%d", t.sample.IDs[i])
		case e.Source == schema.TokensEntryID:
			entry["id"] = t.sample.IDs[i]
		}
		if i == 1 {
			switch t.fault.Kind {
			case Merged:
				continue
			case NaN:
				entry["logprob"] = notANumber
			case Null:
				entry["logprob"] = nil
			case Positive:
				entry["logprob"] = 0.25
			}
		}
		list = append(list, entry)
	}
	return object{"content": list}
}

func byteList(s string) []int {
	out := []int{}
	for i := range len(s) {
		out = append(out, int(s[i]))
	}
	return out
}
