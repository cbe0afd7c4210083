package recorder_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// fetch sends a request without a body, and returns its status and answer.
func fetch(t *testing.T, method, url string) (int, fields) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	var out fields
	json.Unmarshal(body, &out)
	return resp.StatusCode, out
}

// outputOf returns the response of a body, or of a stream's last event.
func outputOf(t *testing.T, stream bool, body []byte) fields {
	t.Helper()
	var r fields
	if stream {
		events := strings.Split(strings.TrimSpace(string(body)), "\n\n")
		_, data, _ := strings.Cut(events[len(events)-1], "data: ")
		var last struct{ Response fields }
		json.Unmarshal([]byte(data), &last)
		r = last.Response
	} else {
		json.Unmarshal(body, &r)
	}
	if r["id"] == nil {
		t.Fatalf("no response in %s", body)
	}
	return r
}

// TestItemsByReference: a client may name the items of any earlier answer instead of
// sending them. The prompt is the same, whatever the policy said before its call.
func TestItemsByReference(t *testing.T) {
	for _, says := range []string{"I look", ""} {
		for _, stream := range []bool{false, true} {
			for _, typed := range []bool{true, false} {
				e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: func(q recordertest.Request) recordertest.Reply {
					return recordertest.Reply{Content: says, ToolCalls: []formats.ToolCall{{ID: "t" + string(rune('0'+len(q.Messages))), Name: "look", Arguments: `{"at": 1}`}}}
				}}
				s := record(t, e).Begin(context.Background(), "t", "g")
				input := list{user("hi")}
				for range 4 {
					q := fields{"model": "policy", "instructions": "You look.", "stream": stream, "input": input, "tools": list{fields{"type": "function", "name": "look"}}}
					status, out := post(t, s.BaseURL()+"/responses", q)
					if status != 200 {
						t.Fatalf("%d %s", status, out)
					}
					var call string
					for _, item := range outputOf(t, stream, out)["output"].(list) {
						o := item.(map[string]any)
						reference := fields{"id": o["id"]}
						if typed {
							reference["type"] = "item_reference"
						}
						if id, ok := o["call_id"].(string); ok {
							call = id
						}
						input = append(input, reference)
					}
					input = append(input, fields{"type": "function_call_output", "call_id": call, "output": "seen"})
				}
				rec := exact(t, s, e)
				if len(rec.Messages) != 9 {
					t.Errorf("%v", outlines(rec))
				}
				for _, m := range rec.Messages {
					if m.PrefixBreak != "" || m.Branch != "" || m.Sampled && m.Content != says {
						t.Errorf("%s", outline(m))
					}
				}
			}
		}
	}
}

// TestStoredResponses: a response that says it is stored can be read, listed, continued
// and deleted; one that says it is not cannot, and nobody else's can.
func TestStoredResponses(t *testing.T) {
	bodies := slices.Repeat([]string{said(`{"role":"assistant","content":"a"}`, "[1,2]", 7)}, 6)
	p, s := playAs(t, "policy", chatTape(bodies...))
	at := s.BaseURL() + "/responses"
	create := func(q fields) fields {
		q["model"] = "policy"
		status, out := post(t, at, q)
		if status != 200 {
			t.Fatalf("%d %s", status, out)
		}
		return outputOf(t, q["stream"] == true, out)
	}
	for _, stream := range []bool{false, true} {
		made := create(fields{"input": "hi", "stream": stream})
		if status, got := fetch(t, "GET", at+"/"+made["id"].(string)); status != 200 || made["store"] != true || cmp.Diff(made, got) != "" {
			t.Errorf("%d %s", status, cmp.Diff(made, got))
		}
	}
	first := create(fields{"input": list{user("one"), fields{"role": "user", "content": "two", "id": "mine"}, user("three")}})
	id := first["id"].(string)
	_, all := fetch(t, "GET", at+"/"+id+"/input_items?order=asc")
	var contents, ids []any
	for _, item := range all["data"].(list) {
		contents, ids = append(contents, item.(map[string]any)["content"]), append(ids, item.(map[string]any)["id"])
	}
	if d := cmp.Diff([]any{"one", "two", "three"}, contents); d != "" || ids[1] != "mine" || all["has_more"] != false {
		t.Errorf("%s %v", d, all)
	}
	_, page := fetch(t, "GET", at+"/"+id+"/input_items?limit=1&after="+ids[2].(string))
	if page["first_id"] != "mine" || page["last_id"] != "mine" || page["has_more"] != true {
		t.Errorf("%v", page)
	}
	create(fields{"input": list{fields{"type": "item_reference", "id": ids[0]}, fields{"type": "item_reference", "id": first["output"].(list)[0].(map[string]any)["id"]}, user("so?")}})
	if got := string(p.asked[3]["messages"]); got != `[{"role":"user","content":"one"},{"role":"assistant","content":"a"},{"role":"user","content":"so?"}]` {
		t.Errorf("asked %s", got)
	}
	second := create(fields{"input": "on", "previous_response_id": id})
	if status, got := fetch(t, "DELETE", at+"/"+id); status != 200 || got["deleted"] != true {
		t.Errorf("%d %v", status, got)
	}
	create(fields{"input": "and on", "previous_response_id": second["id"]})
	if !strings.Contains(string(p.asked[5]["messages"]), "three") {
		t.Errorf("asked %s", p.asked[5]["messages"])
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/" + id, 404}, {"DELETE", "/" + id, 404}, {"GET", "/" + id + "/input_items", 404}, {"GET", "/resp_other", 404}, {"POST", "/compact", 404},
		{"POST", "/" + second["id"].(string) + "/cancel", 400}, {"GET", "/" + second["id"].(string) + "?stream=true", 400},
		{"POST", "/../conversations", 404}, {"GET", "/../conversations/c/items", 404}, {"PUT", "/" + id, 403}} {
		url := strings.Replace(at+c.path, "/responses/..", "", 1)
		if status, got := fetch(t, c.method, url); status != c.status || got["error"] == nil {
			t.Errorf("%s %s: %d %v", c.method, c.path, status, got)
		}
	}
	if status, out := post(t, at, fields{"input": "x", "previous_response_id": id}); status != 400 || !strings.Contains(string(out), "has no response") {
		t.Errorf("%d %s", status, out)
	}
	if len(p.asked) != 6 {
		t.Errorf("asked %d times", len(p.asked))
	}
}

// TestWhatIsNotStoredSaysSo: neither the response nor its items are there later.
func TestWhatIsNotStoredSaysSo(t *testing.T) {
	_, s := playAs(t, "policy", chatTape(said(`{"role":"assistant","content":"a"}`, "[1,2]", 7)))
	_, out := post(t, s.BaseURL()+"/responses", fields{"model": "policy", "input": "hi", "store": false})
	r := outputOf(t, false, out)
	if status, _ := fetch(t, "GET", s.BaseURL()+"/responses/"+r["id"].(string)); status != 404 || r["store"] != false {
		t.Errorf("%d, store %v", status, r["store"])
	}
	item := r["output"].(list)[0].(map[string]any)["id"]
	if status, out := post(t, s.BaseURL()+"/responses", fields{"input": list{fields{"type": "item_reference", "id": item}}}); status != 400 {
		t.Errorf("%d %s", status, out)
	}
}

// TestCountInputTokens of a request that names what only the session knows.
func TestCountInputTokens(t *testing.T) {
	s := echo(t, map[string]string{"/v1/responses/input_tokens": `{"object":"response.input_tokens","input_tokens":3}`, "/tokenize": `{"count":12}`,
		"/v1/chat/completions": said(`{"role":"assistant","content":"a"}`, "[1,2]", 7)})
	_, out := post(t, s.BaseURL()+"/responses", fields{"model": "policy", "input": "hi"})
	id := outputOf(t, false, out)["id"]
	for want, q := range map[string]fields{
		`{"object":"response.input_tokens","input_tokens":3}`:  {"input": "hi"},
		`{"object":"response.input_tokens","input_tokens":12}`: {"input": "on", "previous_response_id": id}} {
		if _, out := post(t, s.BaseURL()+"/responses/input_tokens", q); string(out) != want {
			t.Errorf("%s, want %s", out, want)
		}
	}
}
