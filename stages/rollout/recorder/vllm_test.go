package recorder_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

// vllmTapes are requests to a vLLM 0.32.0 and its answers, in testdata/vllm.
var vllmTapes = map[string]struct {
	path   string
	source string
	prompt int      // ids of it
	want   []string // by choice: text, finish reason and tool calls; nil for one cut off
	tokens int      // of all choices
}{
	"chat-lp-ids-astok": {"/chat/completions", schema.TokensChoice, 18, []string{"\ufffd\x17&\ufffdu | length"}, 6},
	"chat-stream-astok": {"/chat/completions", schema.TokensChoice, 18, []string{"\ufffd\x17&\ufffdu | length"}, 6},
	"chat-stop":         {"/chat/completions", schema.TokensChoice, 18, []string{"\ufffd\x17&\ufffdu\ufffdv | stop"}, 8},
	"chat-n2":           {"/chat/completions", schema.TokensChoice, 18, []string{"\ufffd\x17&\ufffdu | length", "name\nr\ufffd\ufffdN | length"}, 12},
	"chat-stream-n2":    {"/chat/completions", schema.TokensChoice, 18, []string{"\ufffd\x17&\ufffdu | length", "name\nr\ufffd\ufffdN | length"}, 12},
	"tools-auto":        {"/chat/completions", schema.TokensChoice, 66, []string{` | tool_calls | add{"a": 1, "b": 4}`}, 32},
	"tools-auto-stream": {"/chat/completions", schema.TokensChoice, 66, []string{` | tool_calls | add{"a": 1, "b": 4}`}, 32},
	"chat-tools-named":  {"/chat/completions", schema.TokensChoice, 160, nil, 120},
	"chat-tools-required-stream": {"/chat/completions", schema.TokensChoice, 160,
		[]string{" | length | add{\"louNgumwoearwar0 qu,\t \r\r\n\r\n\r\n\r\r\n\t \r\n\r\r\n\r\n\r\r\n:"}, 40},
	"comp-ids-astok": {"/completions", schema.TokensChoice, 4, nil, 6},
	"comp-stream":    {"/completions", schema.TokensChoice, 2, []string{" jumps\ufffd\u0438\u0432\u0435\u0442user | length"}, 4},
}

// unasked are the fields by which an agent asks for tokens.
var unasked = []string{"logprobs", "top_logprobs", "return_token_ids", "return_tokens_as_token_ids"}

// TestTokensOfVLLMAreThoseOnTheWire: every id and logprob, whether or not the
// agent asks for them, who sees what it asked for.
func TestTokensOfVLLMAreThoseOnTheWire(t *testing.T) {
	for name, c := range vllmTapes {
		for _, asks := range []bool{true, false} {
			t.Run(name+map[bool]string{false: ", unasked"}[asks], func(t *testing.T) {
				request, body := vllmSample(t, name)
				if !asks {
					for _, key := range unasked {
						delete(request, key)
					}
				}
				_, s := playAs(t, "tiny", &tape{bodies: []string{body}})
				status, seen := post(t, s.BaseURL()+c.path, request)
				rec := s.End()
				if status != 200 || rec.Untrainable != nil || rec.LastCall != nil || rec.TokenSource != c.source {
					t.Fatalf("%d, unfit %v, last call %v, source %q: %s", status, rec.Untrainable, rec.LastCall, rec.TokenSource, seen)
				}
				checkRow(t, rec)
				wire := readWire(t, body)
				if len(wire.prompt) != c.prompt || wire.tokens() != c.tokens {
					t.Fatalf("the sample has %d and %d tokens, want %d and %d", len(wire.prompt), wire.tokens(), c.prompt, c.tokens)
				}
				if d := cmp.Diff(wire, recorded(rec)); d != "" {
					t.Errorf("recorded (+), on the wire (-): %s", d)
				}
				if got := endings(rec); c.want == nil && !strings.HasSuffix(got[0], " | length") {
					t.Errorf("got %q, want one that was cut off", got)
				} else if c.want != nil && !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
				stream := request["stream"] == true
				if asks && !stream && c.source != "" && string(seen) != body {
					t.Errorf("the agent sees %s", cmp.Diff(body, string(seen)))
				}
				for _, hidden := range []string{`"token_ids":[`, `"prompt_token_ids":[`, `token_id:`, `"logprob":`} {
					if !asks && strings.Contains(string(seen), hidden) {
						t.Errorf("the agent sees %s", hidden)
					}
				}
			})
		}
	}
}

// TestErrorsOfVLLMReachTheAgent as they are, and take no field away: they echo
// parts of a request.
func TestErrorsOfVLLMReachTheAgent(t *testing.T) {
	for name, c := range map[string]struct {
		path   string
		status int
		long   bool
	}{
		"echo-msg-is-str.400":     {"/chat/completions", 400, false},
		"echo-model-long.404":     {"/chat/completions", 404, false},
		"echo-resp-input.400":     {"/responses", 400, false},
		"err-too-long-prompt.400": {"/chat/completions", 400, true},
	} {
		body := readFile(t, name+".json")
		p, s := playAs(t, "tiny", &tape{bodies: []string{body, body}, status: []int{c.status, c.status}})
		for range 2 {
			status, seen := post(t, s.BaseURL()+c.path, fields{"model": "tiny", "messages": []fields{user("hi")}, "input": "hi"})
			if status != c.status || string(seen) != body {
				t.Errorf("%s: the agent sees %d %s", name, status, seen)
			}
		}
		rec := s.End()
		if rec.LastCall == nil || rec.LastCall.Class != outcomes.FailEngineRefused || rec.LastCall.TooLong != c.long {
			t.Errorf("%s: %+v", name, rec.LastCall)
		}
		if len(p.asked) != 2 || string(p.asked[1]["return_token_ids"]) != "true" {
			t.Errorf("%s: asked %d times, at last %v", name, len(p.asked), p.asked[len(p.asked)-1])
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "vllm", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func vllmSample(t *testing.T, name string) (request fields, body string) {
	t.Helper()
	if err := json.Unmarshal([]byte(readFile(t, name+".req.json")), &request); err != nil {
		t.Fatal(err)
	}
	if request["stream"] == true {
		return request, readFile(t, name+".200.sse")
	}
	return request, readFile(t, name+".200.json")
}

// wireTokens are the tokens of a call: of the prompt, and of each choice.
type wireTokens struct {
	prompt   []int32
	ids      map[int][]int32
	logprobs map[int][]float32
}

func (w wireTokens) Equal(o wireTokens) bool {
	return slices.Equal(w.prompt, o.prompt) && cmp.Equal(w.ids, o.ids) && cmp.Equal(w.logprobs, o.logprobs)
}

func (w wireTokens) tokens() (n int) {
	for _, l := range w.logprobs {
		n += len(l)
	}
	return n
}

type wireEntry struct {
	Logprob float32 `json:"logprob"`
}

// readWire reads the tokens of a body with encoding/json.
func readWire(t *testing.T, body string) wireTokens {
	t.Helper()
	w := wireTokens{ids: map[int][]int32{}, logprobs: map[int][]float32{}}
	docs := []string{body}
	if strings.HasPrefix(body, "data:") {
		docs = nil
		for line := range strings.Lines(body) {
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
				docs = append(docs, data)
			}
		}
	}
	for _, doc := range docs {
		var v struct {
			Prompt  []int32 `json:"prompt_token_ids"`
			Choices []struct {
				Index    int
				IDs      []int32 `json:"token_ids"`
				Prompt   []int32 `json:"prompt_token_ids"`
				Logprobs *struct {
					Content []wireEntry
					Tokens  []float32 `json:"token_logprobs"`
				}
			}
		}
		if err := json.Unmarshal([]byte(doc), &v); err != nil {
			t.Fatal(err)
		}
		if w.prompt == nil {
			w.prompt = v.Prompt
		}
		for _, c := range v.Choices {
			if w.prompt == nil {
				w.prompt = c.Prompt
			}
			if c.IDs != nil {
				w.ids[c.Index] = append(w.ids[c.Index], c.IDs...)
			}
			if c.Logprobs != nil {
				w.add(c.Index, c.Logprobs.Content)
				if c.Logprobs.Tokens != nil {
					w.logprobs[c.Index] = append(w.logprobs[c.Index], c.Logprobs.Tokens...)
				}
			}
		}
	}
	return w
}

func (w wireTokens) add(choice int, entries []wireEntry) {
	for _, e := range entries {
		w.logprobs[choice] = append(w.logprobs[choice], e.Logprob)
	}
}

// recorded are the tokens of a record of one call.
func recorded(rec recorder.Record) wireTokens {
	w := wireTokens{ids: map[int][]int32{}, logprobs: map[int][]float32{}}
	k := 0
	for _, m := range rec.Messages {
		if !m.Sampled {
			continue
		}
		w.prompt = m.PromptDeltaIDs
		if m.TokenIDs != nil {
			w.ids[k] = m.TokenIDs
		}
		w.logprobs[k] = m.Logprobs
		k++
	}
	return w
}

// endings are the sampled messages in a line each.
func endings(rec recorder.Record) (out []string) {
	for _, m := range rec.Messages {
		if !m.Sampled {
			continue
		}
		line := m.Content + " | " + m.FinishReason
		for _, c := range m.ToolCalls {
			line += " | " + c.Name + c.Arguments
		}
		out = append(out, line)
	}
	return out
}
