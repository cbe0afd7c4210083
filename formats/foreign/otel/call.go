package otel

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// call is what a span says of a call of a model.
type call struct {
	formats.Call
	prompt, answers []importers.Read
	tools           string
	source          string // token_source
	failure         string
}

func readCall(s *sourceSpan) *call {
	c := &call{}
	c.content(s)
	a := s.attrs
	c.Model = s.model()
	c.CachedTokens = count(a, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
		"llm.token_count.prompt_details.cache_read")
	c.PromptTokens = count(a, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
	c.CompletionTokens = count(a, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
		"llm.token_count.completion")
	if usage := jsontext.ParseObject(decoded(a.Get("langfuse.observation.usage_details"))); usage != nil &&
		c.PromptTokens+c.CompletionTokens == 0 {
		c.PromptTokens, c.CompletionTokens = count(usage, "input", "prompt_tokens"),
			count(usage, "output", "completion_tokens")
	}
	if s.end > s.start && s.start > 0 {
		c.LatencyMS = (s.end - s.start) / 1000
	}
	c.Sampling = readSampling(a)
	if s.failed {
		c.failure = s.failure()
		c.Error = c.failure
	}
	reasons := under(a, "gen_ai.response.finish_reasons").list()
	for i := range c.answers {
		m := &c.answers[i]
		if m.FinishReason == "" && i < len(reasons) {
			m.FinishReason = finishReason(reasons[i].text())
		}
		m.FinishReason = cmp.Or(m.FinishReason, finishReason(s.text("llm.finish_reason")))
	}
	c.logprobs(s)
	c.tools = toolsOf(s)
	return c
}

// model returns the model of a call, by the name that the response has if it is known.
func (s *sourceSpan) model() string {
	return s.text("gen_ai.response.model", "llm.response.model_name", "llm.model_name", "gen_ai.request.model",
		"llm.request.model_name", "langfuse.observation.model.name")
}

// failure returns the error of a span: its kind and its message.
func (s *sourceSpan) failure() string {
	kind, text := s.text("error.type"), s.message
	for _, e := range s.events {
		if e.name == "exception" {
			kind = cmp.Or(kind, jsontext.Unquote(e.attrs.Get("exception.type")))
			text = cmp.Or(text, jsontext.Unquote(e.attrs.Get("exception.message")))
		}
	}
	switch {
	case kind == "" && text == "":
		return "the span has the status ERROR"
	case kind == "" || strings.HasPrefix(text, kind):
		return text
	case text == "":
		return kind
	}
	return kind + ": " + text
}

// content reads the prompt and the answers, from the first convention that the span has.
func (c *call) content(s *sourceSpan) {
	a := s.attrs
	for _, read := range []func(){
		func() { c.current(s) },
		func() { c.ofEvents(s) },
		func() {
			c.prompt, c.answers = openInference(under(a, "llm.input_messages"), "user"),
				openInference(under(a, "llm.output_messages"), "assistant")
		},
		func() {
			c.prompt, c.answers = openLLMetry(under(a, "gen_ai.prompt"), "user"), openLLMetry(under(a, "gen_ai.completion"), "assistant")
		},
	} {
		if read(); len(c.prompt)+len(c.answers) > 0 {
			return
		}
	}
	for _, names := range [][2]string{{"gen_ai.prompt", "gen_ai.completion"},
		{"langfuse.observation.input", "langfuse.observation.output"}, {"input.value", "output.value"}} {
		if a.Has(names[0]) || a.Has(names[1]) {
			c.prompt = readMessages(names[0], request(a.Get(names[0])), "user")
			c.answers = readMessages(names[1], response(a.Get(names[1])), "assistant")
			return
		}
	}
}

// current reads the attributes of the conventions since 1.37.
func (c *call) current(s *sourceSpan) {
	if parts := s.attrs.Get("gen_ai.system_instructions"); s.attrs.Has("gen_ai.system_instructions") {
		if parts[0] == '"' {
			if text := []byte(jsontext.Unquote(parts)); jsontext.Valid(text) {
				parts = text[jsontext.Space(text, 0):]
			}
		}
		member := "parts"
		if parts[0] == '"' {
			member = "content"
		}
		m := jsontext.Object{{Key: "role", Raw: []byte(`"system"`)}, {Key: member, Raw: parts}}
		c.prompt = readMessages("gen_ai.system_instructions", m.Bytes(), "system")
	}
	c.prompt = append(c.prompt, readMessages("gen_ai.input.messages", s.attrs.Get("gen_ai.input.messages"), "user")...)
	c.answers = readMessages("gen_ai.output.messages", s.attrs.Get("gen_ai.output.messages"), "assistant")
}

// ofEvents reads the events, or log records, of the conventions before 1.37: one for each message.
func (c *call) ofEvents(s *sourceSpan) {
	for _, e := range s.events {
		to, v, role := &c.prompt, []byte(nil), ""
		switch e.name {
		case "gen_ai.content.prompt":
			v, role = e.attrs.Get("gen_ai.prompt"), "user"
		case "gen_ai.content.completion":
			to, v, role = &c.answers, e.attrs.Get("gen_ai.completion"), "assistant"
		case "gen_ai.choice":
			to, v, role = &c.answers, choiceMessage(eventBody(e)), "assistant"
		default:
			name, ours := strings.CutPrefix(e.name, "gen_ai.")
			of, message := strings.CutSuffix(name, ".message")
			if !ours || !message {
				continue
			}
			o := eventBody(e)
			if o.Has("tool_calls") {
				o.Set("tool_calls", decoded(o.Get("tool_calls")))
			}
			v, role = o.Bytes(), of
		}
		*to = append(*to, readMessages(e.name, v, role)...)
	}
}

var bodyKeys = []string{"role", "content", "tool_calls", "id", "name", "message", "finish_reason", "index"}

// eventBody returns the body of an event; in the attributes of one of a span, or
// as the text of one.
func eventBody(e event) jsontext.Object {
	body := e.body
	if v := e.attrs.Get("gen_ai.event.content"); e.attrs.Has("gen_ai.event.content") {
		body = decoded(v)
	}
	if o := jsontext.ParseObject(body); o != nil {
		return o
	}
	var o jsontext.Object
	for _, f := range e.attrs {
		if slices.Contains(bodyKeys, f.Key) {
			o = append(o, f)
		}
	}
	return o
}

func choiceMessage(o jsontext.Object) []byte {
	m := jsontext.ParseObject(decoded(o.Get("message")))
	if m == nil {
		m = jsontext.Object{}
		if o.Has("message") {
			m.Set("content", o.Get("message"))
		}
	}
	for _, key := range []string{"content", "tool_calls", "finish_reason"} {
		if !m.Has(key) && o.Has(key) {
			m.Set(key, o.Get(key))
		}
	}
	if m.Has("tool_calls") {
		m.Set("tool_calls", decoded(m.Get("tool_calls")))
	}
	return m.Bytes()
}

// decoded returns the value that a text is the JSON of; another value as it is.
func decoded(v []byte) []byte {
	if len(v) > 0 && v[0] == '"' {
		if text := bytes.TrimSpace([]byte(jsontext.Unquote(v))); len(text) > 0 && (text[0] == '{' || text[0] == '[') &&
			jsontext.Valid(text) {
			return text
		}
	}
	return v
}

// request returns the messages of a request: those of its body, or the value.
func request(v []byte) []byte {
	v = decoded(v)
	o := jsontext.ParseObject(v)
	switch {
	case o.Has("messages"):
		return o.Get("messages")
	case o.Has("input"):
		return o.Get("input")
	case o.Has("prompt"):
		return o.Get("prompt")
	case o != nil && !o.Has("role"):
		return importers.Quote(string(v))
	}
	return v
}

// response returns the messages of a response: those of its choices, or the value.
func response(v []byte) []byte {
	v = decoded(v)
	o := jsontext.ParseObject(v)
	if choices := o.Get("choices"); len(choices) > 0 && choices[0] == '[' {
		var out [][]byte
		for raw := range jsontext.Elements(choices) {
			c := jsontext.ParseObject(raw)
			m := jsontext.ParseObject(c.Get("message"))
			if m == nil {
				m = jsontext.Object{{Key: "content", Raw: value.OrNull(c.Get("text"))}}
			}
			if c.Has("finish_reason") {
				m.Set("finish_reason", c.Get("finish_reason"))
			}
			out = append(out, m.Bytes())
		}
		return value.Join(out)
	}
	if o != nil && !o.Has("role") && !o.Has("content") {
		return importers.Quote(string(v))
	}
	return v
}

// logprobs reads those of the response that OpenInference keeps.
func (c *call) logprobs(s *sourceSpan) {
	i := 0
	for raw := range jsontext.Elements(jsontext.ParseObject(decoded(s.attrs.Get("output.value"))).Get("choices")) {
		o := jsontext.ParseObject(raw)
		if i == len(c.answers) {
			return
		}
		m := &c.answers[i]
		if o.Has("logprobs") {
			c.source = cmp.Or(value.ChoiceLogprobs(&m.Message, o.Get("logprobs")), c.source)
		}
		m.FinishReason = cmp.Or(m.FinishReason, jsontext.Unquote(o.Get("finish_reason")))
		i++
	}
}

func count(a jsontext.Object, names ...string) int32 {
	for _, n := range names {
		if a.Has(n) {
			return must.Count(n, a.Get(n))
		}
	}
	return 0
}

// settings are the names of request parameters that differ from those of the chat completions API.
var settings = map[string]string{"stop_sequences": "stop", "choice.count": "n", "is_stream": "stream",
	"stream": "stream", "type": "", "model": "", "encoding_formats": ""}

func readSampling(a jsontext.Object) string {
	var out jsontext.Object
	for _, f := range a {
		if name, is := strings.CutPrefix(f.Key, "gen_ai.request."); is && string(f.Raw) != "null" {
			if other, is := settings[name]; is {
				name = other
			}
			if name != "" {
				out.Set(name, f.Raw)
			}
		}
	}
	for _, attr := range []string{"llm.invocation_parameters", "langfuse.observation.model.parameters"} {
		for key, v := range jsontext.Members(decoded(a.Get(attr))) {
			switch string(key) {
			case "model", "messages", "tools", "input", "prompt":
			default:
				if string(v) != "null" {
					out.Set(string(key), v)
				}
			}
		}
	}
	return jsontext.Compact(out.Bytes())
}

// toolsOf returns the tools that a call offered.
func toolsOf(s *sourceSpan) string {
	if s.attrs.Has("gen_ai.tool.definitions") {
		return value.Tools(s.attrs.Get("gen_ai.tool.definitions"))
	}
	var list [][]byte
	for _, n := range under(s.attrs, "llm.tools").list() {
		if t := n.get("tool"); t != nil {
			n = t
		}
		v := n.json("json_schema")
		if v = decoded(v); len(v) > 0 && v[0] == '{' {
			list = append(list, v)
		}
	}
	for _, n := range under(s.attrs, "llm.request.functions").list() {
		o := jsontext.Object{{Key: "name", Raw: importers.Quote(n.text("name"))},
			{Key: "description", Raw: importers.Quote(n.text("description"))}}
		if p := decoded(n.json("parameters")); len(p) > 0 {
			o.Set("parameters", p)
		}
		list = append(list, o.Bytes())
	}
	if len(list) > 0 {
		return value.Tools(value.Join(list))
	}
	for _, name := range []string{"langfuse.observation.input", "input.value"} {
		if o := jsontext.ParseObject(decoded(s.attrs.Get(name))); o.Has("tools") && o.Get("tools")[0] == '[' {
			return value.Tools(o.Get("tools"))
		}
	}
	return ""
}
