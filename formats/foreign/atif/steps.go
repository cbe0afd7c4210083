package atif

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters/fit"
	"github.com/rollmill/rollmill/formats/jsontext"
)

type step struct {
	ID            int             `json:"step_id"`
	Source        string          `json:"source"`
	ModelName     string          `json:"model_name,omitempty"`
	Message       any             `json:"message"` // a text, or parts
	Reasoning     string          `json:"reasoning_content,omitempty"`
	ToolCalls     []toolCall      `json:"tool_calls,omitempty"`
	Observation   *observation    `json:"observation,omitempty"`
	Metrics       *metrics        `json:"metrics,omitempty"`
	CopiedContext bool            `json:"is_copied_context,omitempty"`
	LLMCallCount  *int            `json:"llm_call_count,omitempty"`
	Extra         json.RawMessage `json:"extra,omitempty"`
}

type toolCall struct {
	ID        string          `json:"tool_call_id"`
	Name      string          `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"`
	Extra     map[string]any  `json:"extra,omitempty"`
}

type observation struct {
	Results []result `json:"results"`
}

type result struct {
	SourceCallID string         `json:"source_call_id,omitempty"`
	Content      any            `json:"content"`
	Extra        map[string]any `json:"extra,omitempty"`
}

type metrics struct {
	PromptTokens       int32           `json:"prompt_tokens"`
	CompletionTokens   int32           `json:"completion_tokens"`
	CachedTokens       int32           `json:"cached_tokens"`
	PromptTokenIDs     []int32         `json:"prompt_token_ids,omitempty"`
	CompletionTokenIDs []int32         `json:"completion_token_ids,omitempty"`
	Logprobs           jsontext.Floats `json:"logprobs,omitempty"`
}

type contentPart struct {
	Type   string  `json:"type"`
	Text   *string `json:"text,omitempty"`
	Source any     `json:"source,omitempty"` // of the format itself, or an image
}

type image struct {
	MediaType string `json:"media_type"`
	Path      string `json:"path"`
}

type writer struct {
	t       *formats.Trajectory
	lose    func(part string)
	written []bool          // messages that an earlier path has
	prompts map[int][]int32 // whole prompts, by message
	audio   bool            // some message has audio
}

// branch returns the path to a leaf as an embedded document.
func (w *writer) branch(leaf int, a agent, n int) document {
	path := w.t.Path(leaf)
	a.ToolDefinitions = w.tools(path)
	d := document{SchemaVersion: schemaVersion, SessionID: w.t.TrajectoryID,
		TrajectoryID: fmt.Sprintf("%s-branch-%d", w.t.TrajectoryID, n), Agent: a}
	if at := slices.IndexFunc(path, func(i int) bool { return !w.written[i] }); at >= 0 {
		d.Extra = map[string]any{"branch": w.t.Messages[path[at]].Branch}
	}
	d.Steps = w.steps(path)
	return d
}

// tools returns the tools of the last call of a path.
func (w *writer) tools(path []int) json.RawMessage {
	for _, i := range slices.Backward(path) {
		if c := fit.Call(w.t, &w.t.Messages[i]); c != nil && c.Tools >= 0 {
			return chat.List(chat.ToolSet(w.t, c.Tools))
		}
	}
	return nil
}

// steps returns the steps of a path. Tool messages join the step before them.
func (w *writer) steps(path []int) (out []step) {
	for _, i := range path {
		m := &w.t.Messages[i]
		role := fit.Role(m, w.lose)
		old := w.written[i]
		w.written[i] = true
		if role != "tool" {
			out = append(out, w.step(i, role, old))
		} else {
			if len(out) == 0 {
				out = append(out, step{Source: "system", Message: "", CopiedContext: old})
			}
			observe(&out[len(out)-1], result{SourceCallID: m.ToolCallID, Content: w.content(m)})
		}
		out[len(out)-1].ID = len(out)
	}
	return out
}

func observe(s *step, r result) {
	if s.Observation == nil {
		s.Observation = &observation{}
	}
	if id := r.SourceCallID; !slices.ContainsFunc(s.ToolCalls, func(c toolCall) bool { return c.ID == id }) {
		if r.SourceCallID = ""; id != "" {
			r.Extra = map[string]any{"tool_call_id": id} // of a call that is not in this step
		}
	}
	s.Observation.Results = append(s.Observation.Results, r)
}

func (w *writer) step(i int, role string, old bool) step {
	m := &w.t.Messages[i]
	s := step{Source: role, Message: w.content(m), CopiedContext: old}
	if role != "assistant" {
		s.Extra = appendStepExtra(nil, &stepExtra{Name: m.Name, Role: other(m.Role, role)})
		return s.compact()
	}
	s.Source, s.Reasoning = "agent", m.Reasoning
	for _, c := range m.ToolCalls {
		s.ToolCalls = append(s.ToolCalls, callOf(c))
	}
	calls := 0
	if m.Sampled {
		calls = 1
	} else {
		s.CopiedContext = true
	}
	s.LLMCallCount = &calls
	extra := stepExtra{Name: m.Name, FinishReason: m.FinishReason, PrefixBreak: m.PrefixBreak, TokenTexts: m.TokenTexts}
	if c := fit.Call(w.t, m); c != nil {
		s.ModelName = c.Model
		extra.Call = c
		s.Metrics = &metrics{PromptTokens: c.PromptTokens, CompletionTokens: c.CompletionTokens, CachedTokens: c.CachedTokens,
			PromptTokenIDs: w.prompt(i), CompletionTokenIDs: m.TokenIDs, Logprobs: fit.Logprobs(m, w.lose)}
	}
	s.Extra = appendStepExtra(nil, &extra)
	return s.compact()
}

// compact drops an extra that has no keys.
func (s step) compact() step {
	if string(s.Extra) == "{}" {
		s.Extra = nil
	}
	return s
}

// stepExtra is what a step has no fields for.
type stepExtra struct {
	Name         string        `parquet:"name,optional"`
	Role         string        `parquet:"role,optional"` // where source does not tell it
	FinishReason string        `parquet:"finish_reason,optional"`
	PrefixBreak  string        `parquet:"prefix_break,optional"`
	TokenTexts   []string      `parquet:"token_texts,optional,list"`
	Call         *formats.Call `parquet:"call,optional"`
}

var appendStepExtra = jsontext.Rows[stepExtra]()

func other(role, shown string) string {
	if role == shown {
		return ""
	}
	return role
}

func callOf(c formats.ToolCall) toolCall {
	out := toolCall{ID: c.ID, Name: c.Name, Arguments: chat.Object(c.Arguments)}
	if out.Arguments == nil {
		out.Arguments, out.Extra = json.RawMessage(`{}`), map[string]any{"arguments": c.Arguments}
	}
	return out
}

// prompt returns the ids of the whole prompt of a sampled message; nil when the
// engine did not give them.
func (w *writer) prompt(i int) []int32 {
	if known, ok := w.prompts[i]; ok {
		return known
	}
	m := &w.t.Messages[i]
	if len(m.PromptDeltaIDs) == 0 {
		return nil
	}
	var before []int32
	if m.PrefixBreak == "" {
		path := w.t.Path(i)
		for _, j := range slices.Backward(path[:len(path)-1]) {
			if a := &w.t.Messages[j]; a.Sampled {
				if before = w.prompt(j); before == nil {
					return nil
				}
				before = slices.Concat(before, a.TokenIDs)
				break
			}
		}
	}
	ids := slices.Concat(before, m.PromptDeltaIDs)
	w.prompts[i] = ids
	return ids
}

// images are the media types that ATIF knows.
var images = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

func (w *writer) content(m *formats.Message) any {
	if m.ContentParts == "" {
		return m.Content
	}
	out := []contentPart{}
	for part := range jsontext.Elements([]byte(m.ContentParts)) {
		o := jsontext.ParseObject(part)
		if kind, source := jsontext.Unquote(o.Get("type")), chat.Object(string(o.Get("source"))); source != nil && (kind == "audio" || kind == "image") {
			w.audio = w.audio || kind == "audio"
			out = append(out, contentPart{Type: kind, Source: source})
			continue
		}
		for _, p := range fit.Parts(&formats.Message{ContentParts: "[" + string(part) + "]"}, w.lose) {
			switch kind := p.MediaType(); {
			case p.URL == "":
				out = append(out, contentPart{Type: "text", Text: &p.Text})
			case !slices.Contains(images, kind):
				w.lose("images of another type than JPEG, PNG, GIF and WebP")
			default:
				out = append(out, contentPart{Type: "image", Source: &image{kind, p.URL}})
			}
		}
	}
	return out
}
