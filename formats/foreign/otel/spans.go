package otel

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Spans returns the trace of a trajectory, the root first. content adds what the
// conventions make opt-in: messages, arguments and results of tools, and the
// definitions of tools. Without it the trace has nothing that a model read or wrote,
// except the texts of errors. lose is told of parts of the content that a trace
// cannot hold; it may be nil.
func Spans(t *formats.Trajectory, content bool, lose func(part string)) []Span {
	b := &builder{t: t, content: content, lose: lose, answers: make([][]int, len(t.Calls)), results: map[string]int{},
		written: make([]bool, len(t.Messages))}
	for i := range t.Messages {
		m := &t.Messages[i]
		if c := m.Call; c >= 0 && int(c) < len(b.answers) {
			b.answers[c] = append(b.answers[c], i)
		}
		if m.Role == "tool" && m.ToolCallID != "" {
			b.results[m.ToolCallID] = i
		}
	}
	b.root()
	times := timesOf(t)
	for i := range t.Calls {
		b.call(i, times[i])
		for _, at := range b.answers[i] {
			b.tools(at, times[i])
		}
	}
	if slices.Contains(b.written, false) {
		b.lost("messages that no call had")
	}
	return b.spans
}

func (b *builder) lost(part string) {
	if b.content && b.lose != nil {
		b.lose(part)
	}
}

type builder struct {
	t       *formats.Trajectory
	content bool
	lose    func(part string)
	answers [][]int        // of each call, indexes of messages
	results map[string]int // the message with the result of a tool call, by its id
	written []bool         // messages
	spans   []Span
}

// add adds a span; what tells it from the others of the trajectory.
func (b *builder) add(what, name string, kind int, start, end Nanos, attributes []Attribute) *Span {
	s := Span{TraceID: idOf(16, b.t.TrajectoryID), SpanID: idOf(8, b.t.TrajectoryID+" "+what), Name: name, Kind: kind,
		Start: start, End: max(start, end), Attributes: attributes}
	if len(b.spans) > 0 {
		s.ParentID = b.spans[0].SpanID
	}
	b.spans = append(b.spans, s)
	return &b.spans[len(b.spans)-1]
}

func (s *Span) fail(kind, message string) {
	s.Status = &Status{message, statusError}
	s.Attributes = append(s.Attributes, Attribute{"error.type", cmp.Or(kind, "_OTHER")})
}

func (b *builder) root() {
	t := b.t
	a := []Attribute{
		{"gen_ai.operation.name", "invoke_agent"}, {"gen_ai.conversation.id", t.TrajectoryID},
		{"rollmill.trajectory_id", t.TrajectoryID}, {"rollmill.run", t.Run}, {"rollmill.example_id", t.ExampleID},
		{"rollmill.group_id", t.Group()},
		{"rollmill.epoch", int64(t.Epoch)}, {"rollmill.generation", int64(t.Generation)}, {"rollmill.status", t.Status},
		{"rollmill.stop_reason", t.StopReason},
	}
	if t.PolicyVersion != nil {
		a = append(a, Attribute{"rollmill.policy_version", *t.PolicyVersion})
	}
	a = append(number(a, "rollmill.reward", t.Reward), number(nil, "rollmill.advantage", t.Advantage)...)
	s := b.add("root", "invoke_agent", internal, micros(t.StartedAt), micros(t.FinishedAt), a)
	if t.Status == outcomes.StatusFailed {
		s.fail(t.FailureClass, t.Error)
	}
	for _, r := range t.Rewards {
		e := evaluationEvent(s.End, r.Name, r.Value)
		e.Attributes = number(e.Attributes, "rollmill.reward.weight", &r.Weight)
		if r.Failure != "" {
			e.Attributes = append(e.Attributes, Attribute{"error.type", r.Failure})
		}
		s.Events = append(s.Events, e)
	}
	if t.Reward != nil {
		s.Events = append(s.Events, evaluationEvent(s.End, "reward", t.Reward))
	}
}

func evaluationEvent(at Nanos, name string, v *float64) Event {
	return Event{at, "gen_ai.evaluation.result",
		number([]Attribute{{"gen_ai.evaluation.name", name}}, "gen_ai.evaluation.score.value", v)}
}

// number adds a number, if there is one that is finite.
func number(a []Attribute, key string, v *float64) []Attribute {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return a
	}
	return append(a, Attribute{key, *v})
}

func (b *builder) call(i int, at callTimes) {
	t, c := b.t, &b.t.Calls[i]
	model := c.Model
	if c.Target {
		model = cmp.Or(t.Model, c.Model)
	}
	a := []Attribute{{"gen_ai.operation.name", "chat"}, {"gen_ai.provider.name", "openai"},
		{"gen_ai.conversation.id", t.TrajectoryID}}
	a = text(text(text(a, "gen_ai.request.model", model), "gen_ai.response.model", c.Model), "gen_ai.agent.name",
		c.Function)
	a = append(a, Attribute{"rollmill.call", int64(i)}, Attribute{"rollmill.target", c.Target})
	if c.PolicyVersion != nil {
		a = append(a, Attribute{"rollmill.policy_version", *c.PolicyVersion})
	}
	a = append(appendSampling(a, c.Sampling), server(c.Endpoint)...)
	if c.PromptTokens+c.CompletionTokens > 0 {
		a = append(a, Attribute{"gen_ai.usage.input_tokens", int64(c.PromptTokens)},
			Attribute{"gen_ai.usage.output_tokens", int64(c.CompletionTokens)})
	}
	if c.CachedTokens > 0 {
		a = append(a, Attribute{"gen_ai.usage.cache_read.input_tokens", int64(c.CachedTokens)})
	}
	var reasons []string
	for _, m := range b.answers[i] {
		reasons = append(reasons, cmp.Or(t.Messages[m].FinishReason, "unknown"))
	}
	if reasons != nil {
		a = append(a, Attribute{"gen_ai.response.finish_reasons", reasons})
	}
	if b.content {
		a = append(a, b.messages(i)...)
	}
	s := b.add(fmt.Sprint("call ", i), strings.TrimSpace("chat "+model), client, at.start, at.end, a)
	if c.Error != "" {
		s.fail("", c.Error)
	}
}

// messages returns the content of a call. The prompt of one without an answer is not known.
func (b *builder) messages(i int) (a []Attribute) {
	if list := b.answers[i]; len(list) > 0 {
		path := b.t.Path(list[0])
		a = text(text(a, "gen_ai.input.messages", b.messagesOf(path[:len(path)-1])), "gen_ai.output.messages",
			b.messagesOf(list))
	}
	return text(a, "gen_ai.tool.definitions", chat.ToolSet(b.t, b.t.Calls[i].Tools))
}

// tools adds the spans of a message's tool calls that have a result. They run after
// the call that asked for them.
func (b *builder) tools(at int, call callTimes) {
	for k, c := range b.t.Messages[at].ToolCalls {
		result, known := b.results[c.ID]
		if !known {
			continue
		}
		a := []Attribute{{"gen_ai.operation.name", "execute_tool"}, {"gen_ai.tool.name", c.Name},
			{"gen_ai.tool.call.id", c.ID}, {"gen_ai.tool.type", "function"}}
		if b.content {
			a = append(a, Attribute{"gen_ai.tool.call.arguments", c.Arguments},
				Attribute{"gen_ai.tool.call.result", b.result(result)})
		}
		b.add(fmt.Sprint("tool ", at, " ", k), strings.TrimSpace("execute_tool "+c.Name), internal, call.end, call.next, a)
	}
}

func text(a []Attribute, key, v string) []Attribute {
	if v == "" {
		return a
	}
	return append(a, Attribute{key, v})
}

// requested are the request parameters that the conventions have, by their names in
// the chat completions API.
var requested = map[string]string{
	"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_tokens": "max_tokens",
	"max_completion_tokens": "max_tokens", "seed": "seed",
	"frequency_penalty": "frequency_penalty", "presence_penalty": "presence_penalty", "stop": "stop_sequences",
	"n": "choice.count", "stream": "stream",
}

// whole are those that are integers.
var whole = map[string]bool{"max_tokens": true, "seed": true, "choice.count": true}

// appendSampling adds the request parameters of a call.
func appendSampling(a []Attribute, parameters string) []Attribute {
	for _, f := range jsontext.ParseObject([]byte(parameters)) {
		name := requested[f.Key]
		if v := requestValue(name, f.Raw); name != "" && v != nil {
			a = append(a, Attribute{"gen_ai.request." + name, v})
		}
	}
	return a
}

func requestValue(name string, raw []byte) any {
	switch name {
	case "stream":
		return string(raw) == "true"
	case "stop_sequences":
		if len(raw) > 0 && raw[0] == '"' {
			return []string{jsontext.Unquote(raw)}
		}
		var list []string
		for v := range jsontext.Elements(raw) {
			list = append(list, jsontext.Unquote(v))
		}
		if list == nil {
			return nil
		}
		return list
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && whole[name] {
		return n
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return f
	}
	return nil
}

// server returns the address of an endpoint.
func server(endpoint string) []Attribute {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	port, err := net.LookupPort("tcp", cmp.Or(u.Port(), u.Scheme))
	if err != nil {
		return []Attribute{{"server.address", u.Hostname()}}
	}
	return []Attribute{{"server.address", u.Hostname()}, {"server.port", int64(port)}}
}

// callTimes is when a call ran, and when the next one may begin.
type callTimes struct{ start, end, next Nanos }

func micros(t int64) Nanos { return Nanos(max(0, t)) * 1000 }

// timesOf places the calls of a trajectory one after the other, with equal pauses. If
// they took longer than the trajectory, some ran at the same time: then they begin
// earlier, but in their order and not before the trajectory.
func timesOf(t *formats.Trajectory) []callTimes {
	begin, end := micros(t.StartedAt), micros(t.FinishedAt)
	var busy Nanos
	for i := range t.Calls {
		busy += latency(&t.Calls[i])
	}
	var pause Nanos
	if n := Nanos(len(t.Calls)); n > 0 && begin > 0 && begin+busy < end {
		pause = (end - begin - busy) / n
	}
	out := make([]callTimes, len(t.Calls))
	last, at := begin, begin
	for i := range t.Calls {
		took := latency(&t.Calls[i])
		if begin == 0 { // without recorded times
			took = 0
		}
		start := at
		if start+took > end {
			start = max(last, end-min(end, took))
		}
		out[i] = callTimes{start, start + took, start + took + pause}
		last, at = start, out[i].next
	}
	return out
}

func latency(c *formats.Call) Nanos { return Nanos(max(0, c.LatencyMS)) * 1e6 }
