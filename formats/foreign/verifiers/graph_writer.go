package verifiers

import (
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters/fit"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

type node struct {
	Parent     *int             `json:"parent"`
	Tools      []tool           `json:"tools,omitempty"` // of a root
	Message    message          `json:"message"`
	Sampled    bool             `json:"sampled"`
	Timestamp  jsontext.Float   `json:"timestamp"`
	TokenIDs   []int32          `json:"token_ids"`
	Mask       []bool           `json:"mask"`
	Logprobs   jsontext.Floats  `json:"logprobs"`
	Advantages []jsontext.Float `json:"advantages"`
}

type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // a text, or parts
	Name       string     `json:"name,omitempty"`
	Reasoning  string     `json:"reasoning_content,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID *string    `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict,omitempty"`
}

type contentPart struct {
	Type     string            `json:"type"`
	Text     *string           `json:"text,omitempty"`
	ImageURL map[string]string `json:"image_url,omitempty"`
}

type call struct {
	Node         *int            `json:"node"`
	Model        string          `json:"model,omitempty"`
	Sampling     json.RawMessage `json:"sampling,omitempty"`
	FinishReason *string         `json:"finish_reason"`
	Usage        usage           `json:"usage"`
	Time         span            `json:"time"`
	Error        *failure        `json:"error,omitempty"`
}

type usage struct {
	PromptTokens     int32 `json:"prompt_tokens"` // without those from the cache
	CompletionTokens int32 `json:"completion_tokens"`
	Cached           int32 `json:"cached_input_tokens"`
}

type graphWriter struct {
	t       *formats.Trajectory
	lose    func(string)
	nodes   []node
	tools   []tool
	at      []int // the node of each message
	started jsontext.Float
}

func (g *graphWriter) build() {
	offered := map[int32][]tool{}
	for i := range g.t.Messages {
		m := &g.t.Messages[i]
		parent := -1
		if p := int(m.Parent); p >= 0 && p < i {
			if parent = g.at[p]; m.PrefixBreak != "" {
				parent = g.repeat(p)
			}
		}
		g.at[i] = g.add(m, parent)
		g.tokens(i)
		if c := fit.Call(g.t, m); c != nil && c.Tools >= 0 {
			if _, known := offered[c.Tools]; !known {
				offered[c.Tools] = g.toolsOf(c.Tools)
			}
			g.tools = offered[c.Tools]
			g.offer(g.at[i], offered[c.Tools])
		}
	}
	if g.tools == nil {
		g.tools = []tool{}
	}
}

// offer notes the tools at the root of a node.
func (g *graphWriter) offer(n int, tools []tool) {
	for g.nodes[n].Parent != nil {
		n = *g.nodes[n].Parent
	}
	g.nodes[n].Tools = tools
}

// repeat appends the path to a message again, as context without tokens, and returns its last node.
func (g *graphWriter) repeat(leaf int) int {
	parent := -1
	for _, i := range g.t.Path(leaf) {
		parent = g.add(&g.t.Messages[i], parent)
		g.nodes[parent].Sampled = false
	}
	return parent
}

func (g *graphWriter) add(m *formats.Message, parent int) int {
	n := node{Message: g.message(m), Sampled: m.Sampled, Timestamp: g.started, TokenIDs: []int32{}, Mask: []bool{},
		Logprobs: jsontext.Floats{}}
	if parent >= 0 {
		n.Parent = &parent
	}
	g.nodes = append(g.nodes, n)
	return len(g.nodes) - 1
}

// tokens gives the node of a message its tokens.
func (g *graphWriter) tokens(i int) {
	m, n := &g.t.Messages[i], &g.nodes[g.at[i]]
	if len(m.TokenIDs) == 0 && len(m.Logprobs) > 0 {
		g.lose("log probabilities without token ids")
	}
	if len(m.TokenIDs) == 0 && !m.NoTokens() {
		return
	}
	n.TokenIDs = slices.Concat(m.PromptDeltaIDs, m.TokenIDs)
	n.Mask = make([]bool, len(n.TokenIDs))
	if !g.t.Trained(i) {
		return
	}
	for k := len(m.PromptDeltaIDs); k < len(n.Mask); k++ {
		n.Mask[k] = true
	}
	if len(m.Logprobs) == len(m.TokenIDs) {
		n.Logprobs = fit.Logprobs(m, g.lose)
	} else if len(m.Logprobs) > 0 {
		g.lose("log probabilities that are not one for each token")
	}
	if a := g.t.AdvantageOf(i); a != nil && finite(*a) {
		n.Advantages = slices.Repeat([]jsontext.Float{jsontext.Float(*a)}, len(m.TokenIDs))
		for k, a := range g.t.TokenAdvantages(i) {
			n.Advantages[k] = jsontext.Float(a)
		}
	}
}

func (g *graphWriter) message(m *formats.Message) message {
	role := fit.Role(m, g.lose)
	out := message{Role: role, Content: g.content(m, role)}
	switch role {
	case "assistant":
		out.Reasoning = m.Reasoning
		for _, c := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, toolCall{c.ID, "function", c.Name, c.Arguments})
		}
	case "tool":
		out.ToolCallID, out.Name = &m.ToolCallID, m.Name
		return out
	}
	if m.Name != "" {
		g.lose("names of participants")
	}
	return out
}

// content returns a text, or parts, which an assistant's message cannot have.
func (g *graphWriter) content(m *formats.Message, role string) any {
	if m.ContentParts == "" {
		return m.Content
	}
	if role == "assistant" {
		text, lost := chat.Text(m)
		for _, kind := range lost {
			g.lose("content parts of an assistant of type " + kind)
		}
		return text
	}
	out := []contentPart{}
	for _, p := range fit.Parts(m, g.lose) {
		if p.URL != "" {
			out = append(out, contentPart{Type: "image_url", ImageURL: map[string]string{"url": p.URL}})
			continue
		}
		out = append(out, contentPart{Type: "text", Text: &p.Text})
	}
	return out
}

// toolsOf reads a set of tools, as OpenAI's API has them.
func (g *graphWriter) toolsOf(set int32) []tool {
	var list []struct {
		tool
		Function *tool `json:"function"`
	}
	if json.Unmarshal([]byte(chat.ToolSet(g.t, set)), &list) != nil {
		g.lose("tools that are not a list of functions")
		return []tool{}
	}
	out := make([]tool, 0, len(list))
	for _, entry := range list {
		x := entry.tool
		if entry.Function != nil {
			x = *entry.Function
		}
		if chat.Object(string(x.Parameters)) == nil {
			x.Parameters = json.RawMessage(`{}`)
		}
		out = append(out, x)
	}
	return out
}

func (g *graphWriter) calls() []call {
	out := make([]call, 0, len(g.t.Calls))
	for i := range g.t.Calls {
		c := &g.t.Calls[i]
		x := call{Model: c.Model, Sampling: chat.Object(c.Sampling),
			Usage: usage{max(0, c.PromptTokens-c.CachedTokens), c.CompletionTokens, c.CachedTokens},
			Time:  span{End: jsontext.Float(float64(c.LatencyMS) / 1000)}}
		if at := slices.IndexFunc(g.t.Messages, func(m formats.Message) bool { return int(m.Call) == i }); at >= 0 {
			x.Node = &g.at[at]
			x.FinishReason = finish(&g.t.Messages[at])
		}
		if c.Error != "" {
			x.Error = &failure{"ModelError", c.Error}
		}
		out = append(out, x)
	}
	return out
}

// finish returns one of the three reasons of verifiers, or nil.
func finish(m *formats.Message) *string {
	reason := ""
	switch outcomes.Finish(m.FinishReason, nil) {
	case outcomes.FinishTruncated:
		reason = "length"
	case outcomes.FinishEnded:
		if reason = "stop"; len(m.ToolCalls) > 0 {
			reason = "tool_calls"
		}
	default:
		return nil
	}
	return &reason
}
