package recorder

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// streaming is an engine that answers each call with the same stream.
func streaming(stream []byte) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(stream)
	}))
}

// FuzzTranslatedStreams: whatever an engine streams, the agent gets events of its API
// that end as the API's do, or its error, and the call is recorded as it ended.
func FuzzTranslatedStreams(f *testing.F) {
	token := func(delta, finish string) string {
		return `data: {"id":"c","created":5,"model":"policy","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish +
			`,"logprobs":{"content":[{"logprob":-1}]},"token_ids":[7]}]}` + "\n\n"
	}
	usage := `data: {"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":2}}` + "\n\n"
	text, end, done := token(`{"content":"one"}`, "null"), token(`{}`, `"stop"`), "data: [DONE]\n\n"
	call := token(`{"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":"{\"a\":"}}]}`, "null")
	for _, seed := range []string{
		text + end + usage + done,
		text[:len(text)/2], text, text + end[:9], text + done, done, "", "\n\n", // cut
		end + text + done, usage + end + text, text + end + end + text + usage + done, // out of order
		token(`{"content":[{"type":"text","text":"one"}]}`, "null") + end + done, // lists
		token(`[]`, "null") + end + done, token(`null`, "null") + end + done, token(`{"content":{"a":1},"reasoning":7,"refusal":[]}`, `["stop"]`) + end + done,
		strings.ReplaceAll(text, "-1", "NaN") + strings.ReplaceAll(end, "5", "NaN") + done,
		strings.ReplaceAll(text, "-1", "-Infinity") + end + strings.ReplaceAll(usage, "2", "1e999") + done,
		"event: response.created\ndata: {\"type\":\"response.created\"}\n\n" + text +
			"event: unknown\ndata: {\"choices\":null}\n\n: comment\n\nid: 7\nretry: 1\n\n" + end + done,
		"data: " + strings.Repeat("x", 100_000) + "\n\n" + text,
		text + "data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("y", 100_000) + "\"}}]}\n\n" + end + done,
		text + end + done + text + "data: {\"error\":{\"message\":\"late\"}}\n\n", // after the end
		text + "data: {\"error\":{\"message\":\"no memory\"}}\n\n" + end + done, "data: {\"error\":\"no\"}\n\n",
		token(`{"content":"one"}`, `"length"`) + usage + done,
		token(`{"reasoning":"a"}`, "null") + text + token(`{"reasoning":"b","content":"c"}`, `"stop"`) + done,
		text + call + token(`{"tool_calls":[{"index":9,"function":{"arguments":"1}"}},{"index":-1},7]}`, `"tool_calls"`) + done,
		strings.ReplaceAll(text, `"index":0`, `"index":3`) + text + end + done, text + strings.ReplaceAll(end, `"index":0`, `"index":1`) + done,
		`data: {"choices":[{"message":{"role":"assistant","content":"whole"},"delta":{"content":"piece"},"finish_reason":"stop"}]}` + "\n\n" + done,
		`data: {"choices":[{"delta":{"content":"\ud83d"}},{"delta":{"content":"\ude00\u0000"}}]}` + "\n\n" + end + done, "data: [[[[\n\n" + text,
		"data: {}\n\n" + text + end + done,
		text + token(`{"refusal":"no"}`, "null") + token(`{"reasoning":"late"}`, "null") + token(`{"refusal":"!"}`, `"content_filter"`) + done,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		engine := streaming(stream)
		defer engine.Close()
		for _, api := range []struct{ path, body string }{{"/messages", `{"model":"policy","stream":true,"messages":[{"role":"user","content":"hi"}]}`},
			{"/responses", `{"model":"policy","stream":true,"input":"hi"}`}} {
			rec, err := New(Options{Settings: engines.Settings{Endpoints: []string{engine.URL + "/v1"}, Retries: -1}, Defaults: apis.Defaults{Model: "policy", NoLogprobs: len(stream)%2 == 0}})
			if err != nil {
				t.Fatal(err)
			}
			s := rec.Begin(t.Context(), "t", "g")
			resp, err := rec.Client().Post(s.BaseURL()+api.path, "application/json", strings.NewReader(api.body))
			if err != nil {
				t.Fatalf("%s: %v", api.path, err)
			}
			out, _ := io.ReadAll(resp.Body)
			record := s.End()
			rec.Close()
			checkTranslated(t, api.path, resp.StatusCode, out, record)
		}
	})
}

func checkTranslated(t *testing.T, path string, status int, out []byte, rec Record) {
	if status != http.StatusOK {
		if rec.LastCall == nil || !json.Valid(out) {
			t.Errorf("%s: %d %s, %+v", path, status, out, rec.LastCall)
		}
		return
	}
	events := completion.NewEventReader(bytes.NewReader(out), func() {})
	kind, text := "", ""
	for {
		e, err := events.Next()
		if err == io.EOF {
			break
		}
		if err != nil || e.Data != nil && !json.Valid(e.Data) {
			t.Fatalf("%s: %v in %s", path, err, out)
		}
		o := jsontext.ParseObject(e.Data)
		kind = jsontext.Unquote(o.Get("type"))
		delta := jsontext.ParseObject(o.Get("delta"))
		text += jsontext.Unquote(delta.Get("text")) + jsontext.Unquote(delta.Get("thinking"))
		if kind == "response.output_text.delta" || kind == "response.reasoning_text.delta" || kind == "response.refusal.delta" {
			text += jsontext.Unquote(o.Get("delta"))
		}
	}
	failed := kind == "error" || kind == "response.failed"
	ended := kind == "message_stop" || kind == "response.completed" || kind == "response.incomplete"
	if failed == ended || failed != (rec.LastCall != nil) || failed != (rec.Calls[0].Error != "") {
		t.Fatalf("%s: the stream ends with %q, and the call with %+v: %s", path, kind, rec.LastCall, out)
	}
	if failed {
		return
	}
	row := formats.Trajectory{TrajectoryID: "t", Run: "r", ExampleID: "e", Example: "{}", Status: outcomes.StatusOK, StopReason: outcomes.StopDone,
		Messages: rec.Messages, Calls: rec.Calls, ToolSets: rec.ToolSets, TokenSource: rec.TokenSource}
	row.PromptTokens, row.CompletionTokens = rec.Calls[0].PromptTokens, rec.Calls[0].CompletionTokens
	for i := range row.Messages {
		if row.Trained(i) {
			row.SampledTokens += int32(len(row.Messages[i].Logprobs))
		}
	}
	row.SetPayloadDigest()
	for _, p := range validate.Trajectory(&row) {
		t.Errorf("%s: as a row: %v", path, p)
	}
	if m := row.Messages[len(row.Messages)-1]; len(row.Messages) == 2 {
		if want := len(allText(&m)); want != len(text) {
			t.Errorf("%s: the agent saw %d bytes of text of %d: %s", path, len(text), want, out)
		}
	}
}

// allText is all text of a message that agents see as text.
func allText(m *formats.Message) string {
	return chat.ContentText(m) + completion.RefusalOf(m) + m.Reasoning
}

// continues reports whether a message of a prompt continues a sampled one.
func continues(sampled, m *formats.Message) bool {
	var t tree.Tree
	t.AddSampled(tree.Path{At: -1}, *sampled, 0, tree.Span{})
	at, _ := t.Find(-1, m)
	return at == 0
}
