package verifiers

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// result converts a row of results.jsonl. Its steps, when it has them, give the
// calls and their tokens; else every message of the assistant in its completion
// was sampled.
func result(o jsontext.Object) (x importers.Item) {
	row := &x.Row
	row.ExampleID = must.ID("example_id", o.Get("example_id"))
	row.TrajectoryID = must.ID("trajectory_id", o.Get("trajectory_id"))
	var example jsontext.Object
	for _, key := range []string{"example_id", "answer", "info"} {
		if o.Has(key) {
			example = append(example, jsontext.Member{Key: key, Raw: o.Get(key)})
		}
	}
	row.Example = jsontext.Compact(example.Bytes())
	var s steps
	s.Offer(value.Tools(o.Get("tool_defs")))
	list := must.List("trajectory", o.Get("trajectory"))
	if len(list) > len("[]") {
		must.Each("trajectory", list, s.step)
	} else {
		s.plain(o)
	}
	metrics := must.Object("metrics", o.Get("metrics"))
	for f := range value.Rest(o, "example_id", "prompt", "completion", "reward", "answer", "info", "error", "tool_defs",
		"trajectory", "trajectory_id") {
		if string(metrics.Get(f.Key)) != string(f.Raw) { // the metrics are repeated beside
			s.Meta.Add(f.Key, f.Raw)
		}
	}
	s.Meta.Add("error", o.Get("error"))
	s.Into(row)
	timing := must.Object("timing", o.Get("timing"))
	times(row, append(jsontext.Object{{Key: "start", Raw: timing.Get("start_time")}}, timing...))
	resultStatus(row, o)
	if reward := must.Number("reward", o.Get("reward")); row.Status != outcomes.StatusFailed {
		row.Reward = reward // of a failed rollout it is 0
	}
	return x
}

// resultStatus sets the status by the error, and by what stopped the rollout.
func resultStatus(row *formats.Trajectory, o jsontext.Object) {
	if v := o.Get("error"); len(v) > 0 && string(v) != "null" {
		kind, text := "", jsontext.Unquote(v)
		if e := jsontext.ParseObject(v); e != nil {
			kind, text = must.Text("error.error", e.Get("error")), must.Text("error.message", e.Get("message"))
		}
		if kind != "" {
			text = kind + ": " + text
		}
		importers.Fail(row, cmp.Or(failures[kind], outcomes.FailInternal), text)
		return
	}
	stop, cut := truncation(o)
	switch {
	case string(o.Get("is_completed")) == "false":
		row.Status, row.FailureClass = outcomes.StatusFailed, outcomes.FailUnfinished
	case cut:
		row.Status, row.StopReason = outcomes.StatusTruncated, stop
	case len(row.Calls) == 0:
		importers.Fail(row, outcomes.FailNoCalls, "the completion has no message of the model")
	case o.Has("is_truncated"):
		row.Status = outcomes.StatusOK
	}
}

// truncation reports whether a limit cut a rollout off, and which one. The file
// says it in is_truncated; its stop condition counts where that is missing, and
// for a time limit, after which the library does not set is_truncated. A
// single-turn environment always ends by max_turns_reached, so that an answer
// that is_truncated was cut by its length.
func truncation(o jsontext.Object) (stop string, cut bool) {
	stop = truncations[must.Text("stop_condition", o.Get("stop_condition"))]
	switch {
	case stop == outcomes.StopTimeout || !o.Has("is_truncated"):
		return stop, stop != ""
	case !jsontext.IsTrue(o.Get("is_truncated")):
		return "", false
	case stop == "" || stop == outcomes.StopTurns:
		return outcomes.StopLength, true
	}
	return stop, true
}

type steps struct{ importers.Draft }

// plain reads the prompt and the completion: messages, or texts.
func (s *steps) plain(o jsontext.Object) {
	for _, key := range []string{"prompt", "completion"} {
		for _, m := range messagesOf(key, o.Get(key)) {
			at := len(s.Messages)
			if key == "completion" && m.Role == "assistant" {
				s.Sampled(m.Message, formats.Call{Target: true})
			} else {
				s.Input(m.Message)
			}
			s.Meta.KeepRest(at, m.Others)
		}
	}
}

// messagesOf reads a list of messages, or a text: of the user, or of the model in a completion.
func messagesOf(field string, v []byte) []importers.Read {
	role := "user"
	if field == "completion" {
		role = "assistant"
	}
	if len(v) > 0 && v[0] == '"' {
		return []importers.Read{{Message: formats.Message{Role: role, Content: jsontext.Unquote(v)}}}
	}
	out := value.Messages(field, v)
	for i := range out {
		if out[i].Role == "text" { // of the completions API
			out[i].Role = role
		}
	}
	return out
}

// step adds a step: it has the whole prompt of a call, and its answer.
func (s *steps) step(raw []byte) {
	o := must.Object("step", raw)
	prompt, answers := messagesOf("prompt", o.Get("prompt")), messagesOf("completion", o.Get("completion"))
	s.Walk(prompt, &s.Meta)
	for i, m := range answers {
		at := len(s.Messages)
		if m.Role != "assistant" {
			s.Input(m.Message)
		} else {
			s.answer(o, m.Message, i == len(answers)-1)
		}
		s.Meta.KeepRest(at, m.Others)
	}
}

// answer adds an answer; the last one of a step has its call's tokens.
func (s *steps) answer(o jsontext.Object, m formats.Message, last bool) {
	response := jsontext.ParseObject(o.Get("response"))
	usage := jsontext.ParseObject(response.Get("usage"))
	call := formats.Call{Target: true, Model: must.Text("response.model", response.Get("model"))}
	at := len(s.Messages)
	if last {
		call.PromptTokens = must.Count("usage.prompt_tokens", usage.Get("prompt_tokens"))
		call.CompletionTokens = must.Count("usage.completion_tokens", usage.Get("completion_tokens"))
		m.FinishReason = must.Text("finish_reason", jsontext.ParseObject(response.Get("message")).Get("finish_reason"))
		t := must.Object("tokens", o.Get("tokens"))
		m.TokenIDs = must.IDs("tokens.completion_ids", t.Get("completion_ids"))
		m.Logprobs = must.Logprobs("tokens.completion_logprobs", t.Get("completion_logprobs"))
		m.PromptDeltaIDs, m.PrefixBreak = s.PromptDelta(must.IDs("tokens.prompt_ids", t.Get("prompt_ids")))
		if len(m.TokenIDs) > 0 {
			s.Source = "tokens.completion_ids"
		}
		s.keepTokens(at, t)
		for f := range value.Rest(o, "prompt", "completion", "tokens", "response") {
			if text := string(f.Raw); text != "null" && text != "{}" {
				s.Meta.OfMessage(at, f.Key, f.Raw)
			}
		}
	}
	s.Sampled(m, call)
}

// keepTokens keeps what a step says of its tokens, except masks that say nothing.
func (s *steps) keepTokens(at int, t jsontext.Object) {
	usual := map[string][]string{"prompt_mask": {"0", "false"}, "completion_mask": {"1", "true"}}
	for f := range value.Rest(t, "prompt_ids", "completion_ids", "completion_logprobs") {
		says := string(f.Raw) != "null"
		if of, mask := usual[f.Key]; mask {
			says = false
			for v := range jsontext.Elements(f.Raw) {
				says = says || !slices.Contains(of, string(v))
			}
		}
		if says {
			s.Meta.OfMessage(at, f.Key, f.Raw)
		}
	}
}
