// Package recordertest is an engine for tests: a small OpenAI-compatible server
// on a real socket that answers deterministically, returns logprobs and token
// ids in every form of real engines, keeps a log of what it sampled, and
// misbehaves on request. It has no policy; for one that learns see
// pipelines/sandbox.
//
// To add a misbehaviour, add a Fault and its case in faults.go.
package recordertest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

// Engine is the server. Set its fields before the first request.
type Engine struct {
	Model     string // answers as this; "" echoes the request's
	Source    string // where token ids are: a formats.Tokens… constant, or ""
	PromptIDs bool   // give the prompt's ids
	Reasoning bool   // put a thought before each answer

	Completions http.Handler // answers requests for completions; nil: it has none

	Script  func(q Request) Reply                      // what to say; nil: a short text that depends on prompt and seed
	Fault   func(n int, q Request) Fault               // what goes wrong with request n, from 0; nil: nothing
	Refuses []string                                   // request fields that are answered with 400
	Pace    func(q Request, event int) <-chan struct{} // before each event of a stream; nil: at once
	Arrived func(n int, q Request)                     // called as request n arrives

	server *httptest.Server
	mu     sync.Mutex
	asked  []Request
	log    []Sample
}

// Request is one chat request as it arrived.
type Request struct {
	Fields   map[string]json.RawMessage
	Messages []formats.Message
	Header   http.Header
	Choice   int // which of its n answers the Script is asked for, from 0
}

// Reply is what the engine says.
type Reply struct {
	Content   string
	ToolCalls []formats.ToolCall
	Finish    string // "" for stop, or tool_calls
}

// Sample is one answer's tokens, as sampled.
type Sample struct {
	Prompt, IDs []int32
	Logprobs    []float32
	Content     string
}

// Start serves until the test ends.
func (e *Engine) Start(t testing.TB) *Engine {
	e.StartServer()
	t.Cleanup(e.Close)
	return e
}

// StartServer serves until Close; for processes without a test.
func (e *Engine) StartServer() {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", e.chat)
	mux.HandleFunc("GET /v1/models", e.models)
	if e.Completions != nil {
		mux.Handle("POST /v1/completions", e.Completions)
	}
	e.server = httptest.NewServer(mux)
}

// Close ends every connection.
func (e *Engine) Close() {
	e.server.CloseClientConnections()
	e.server.Close()
}

// URL returns the base URL, ending in /v1.
func (e *Engine) URL() string { return e.server.URL + "/v1" }

// Asked returns the chat requests so far.
func (e *Engine) Asked() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

// Sampled returns the answers so far.
func (e *Engine) Sampled() []Sample {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.log)
}

func (e *Engine) models(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, `{"object":"list","data":[{"id":%q,"object":"model"}]}`, e.Model)
}

func (e *Engine) chat(w http.ResponseWriter, r *http.Request) {
	q := Request{Header: r.Header}
	if err := json.NewDecoder(r.Body).Decode(&q.Fields); err != nil {
		http.Error(w, `{"error":{"message":"not JSON"}}`, http.StatusBadRequest)
		return
	}
	q.Messages = messages(q.Fields["messages"])
	e.mu.Lock()
	n := len(e.asked)
	e.asked = append(e.asked, q)
	e.mu.Unlock()
	if e.Arrived != nil {
		e.Arrived(n, q)
	}
	for _, name := range e.Refuses {
		if _, sent := q.Fields[name]; sent {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":"Unrecognized request argument supplied: %s","type":"invalid_request_error"}}`, name)
			return
		}
	}
	fault := Fault{}
	if e.Fault != nil {
		fault = e.Fault(n, q)
	}
	if fault.instead(w, r) {
		return
	}
	e.answer(w, r, q, fault)
}

func (q Request) flag(name string) bool { return string(q.Fields[name]) == "true" }

// Text returns a string field of the request.
func (q Request) Text(name string) (s string) {
	json.Unmarshal(q.Fields[name], &s)
	return s
}

func (e *Engine) say(q Request) Reply {
	if e.Script != nil {
		return e.Script(q)
	}
	h := fnv.New32a()
	for _, m := range q.Messages {
		fmt.Fprintf(h, "%s\x00%s\x00", m.Role, m.Content)
	}
	h.Write(q.Fields["seed"])
	return Reply{Content: fmt.Sprintf("the answer is %d, I think", h.Sum32()%1000)}
}

// tokenize cuts text into pieces of up to four bytes, on character bounds.
func tokenize(text string) (pieces []string) {
	for len(text) > 0 {
		n := 0
		for i, r := range text {
			if i+len(string(r)) > 4 && i > 0 {
				break
			}
			n = i + len(string(r))
		}
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

func idOf(piece string) int32 {
	h := fnv.New32a()
	h.Write([]byte(piece))
	return int32(h.Sum32() % 50000)
}

func ids(pieces []string) []int32 {
	out := []int32{}
	for _, p := range pieces {
		out = append(out, idOf(p))
	}
	return out
}

const end = "<|end|>"

// render applies the chat template: reasoning of earlier turns is left out.
func render(list []formats.Message) (pieces []string) {
	for _, m := range list {
		pieces = append(append(pieces, "<|"+m.Role+"|>"), tokenTexts("", m.Content, m.ToolCalls)...)
	}
	return append(pieces, "<|assistant|>")
}

func tokenTexts(thought, content string, calls []formats.ToolCall) (pieces []string) {
	if thought != "" {
		pieces = append(append(append(pieces, "<think>"), tokenize(thought)...), "</think>")
	}
	pieces = append(pieces, tokenize(content)...)
	for _, c := range calls {
		pieces = append(append(append(pieces, "<tool>"), tokenize(c.Name)...), tokenize(c.Arguments)...)
	}
	return append(pieces, end)
}

func messages(raw json.RawMessage) (out []formats.Message) {
	var list []struct {
		Role      string
		Content   json.RawMessage
		ToolCalls []toolCall `json:"tool_calls"`
	}
	json.Unmarshal(raw, &list)
	for _, m := range list {
		msg := formats.Message{Role: m.Role, Content: joined(m.Content)}
		for _, c := range m.ToolCalls {
			msg.ToolCalls = append(msg.ToolCalls,
				formats.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		out = append(out, msg)
	}
	return out
}

type toolCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func toolCalls(calls []formats.ToolCall, indexed bool) (out []toolCall) {
	for i, c := range calls {
		t := toolCall{ID: c.ID, Type: "function"}
		t.Function.Name, t.Function.Arguments = c.Name, c.Arguments
		if indexed {
			t.Index = &i
		}
		out = append(out, t)
	}
	return out
}

func logprob(prompt []int32, i int, piece string) float32 {
	h := fnv.New32a()
	fmt.Fprint(h, len(prompt), i, piece)
	return -float32(h.Sum32()%100000) / 33333
}

func truncated(text string, maxTokens int) string {
	return strings.Join(tokenize(text)[:min(maxTokens, len(tokenize(text)))], "")
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
