package recorder_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

// engineOf starts an engine that answers call n, from 0, and a trajectory.
func engineOf(t *testing.T, o recorder.Options, answer func(n int, q map[string]json.RawMessage, w http.ResponseWriter, r *http.Request)) *recorder.Session {
	t.Helper()
	n := make(chan int, 1)
	n <- 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q map[string]json.RawMessage
		json.NewDecoder(r.Body).Decode(&q)
		k := <-n
		n <- k + 1
		answer(k, q, w, r)
	}))
	t.Cleanup(server.Close)
	o.Endpoints, o.Model = []string{server.URL + "/v1"}, "policy"
	if o.Retries == 0 {
		o.Retries = -1
	}
	rec, err := recorder.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	return rec.Begin(context.Background(), "t", "g")
}

// chunk is a chunk of chat completions with one token.
func chunk(delta string, token int) string {
	return fmt.Sprintf(`data: {"id":"c1","created":5,"model":"policy","choices":[{"index":0,"delta":%s,"logprobs":{"content":[{"logprob":-1}]},"token_ids":[%d]}]}`, delta, token) + "\n\n"
}

// role is the first chunk of a stream, and ending the last ones, after n tokens.
const role = `data: {"id":"c1","created":5,"model":"policy","prompt_token_ids":[1,2],"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"

func ending(reason string, n int) string {
	return fmt.Sprintf(`data: {"id":"c1","model":"policy","choices":[{"index":0,"delta":{},"finish_reason":%q,"stop_reason":null}]}`+"\n\n"+
		`data: {"id":"c1","model":"policy","choices":[],"usage":{"prompt_tokens":2,"completion_tokens":%d}}`+"\n\ndata: [DONE]\n\n", reason, n)
}

func begins(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Request-Id", "engine-request")
	w.(http.Flusher).Flush()
}

func says(w http.ResponseWriter, events ...string) {
	io.WriteString(w, strings.Join(events, ""))
	w.(http.Flusher).Flush()
}

// made are the APIs of which the stream is made of chat completions.
var made = map[string]struct {
	path  string
	ask   fields
	text  string // the kind of an event with text
	ping  string
	fails string // what is in an event with an error
}{
	"messages": {"/messages", fields{"model": "policy", "max_tokens": 9, "stream": true, "messages": list{user("hi")}}, "content_block_delta", "event: ping",
		`"error":{"message":`},
	"responses": {"/responses", fields{"model": "policy", "stream": true, "input": "hi"}, "response.output_text.delta", ": ping", `"type":"error"`},
}

// listener is an agent's end of a stream.
type listener struct {
	t *testing.T
	*http.Response
	lines *bufio.Reader
}

func open(t *testing.T, s *recorder.Session, path string, q fields) *listener {
	t.Helper()
	body, _ := json.Marshal(q)
	resp, err := http.Post(s.BaseURL()+path, "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &listener{t, resp, bufio.NewReader(resp.Body)}
}

// until reads up to a line that contains a text.
func (a *listener) until(text string) string {
	a.t.Helper()
	var all string
	for {
		line, err := a.lines.ReadString('\n')
		all += line
		if strings.Contains(line, text) {
			return all
		}
		if err != nil {
			a.t.Fatalf("%v, no %q in %s", err, text, all)
		}
	}
}

func (a *listener) rest() string {
	out, err := io.ReadAll(a.lines)
	if err != nil {
		a.t.Errorf("%v after %s", err, out)
	}
	return string(out)
}

// TestTranslatedStreamsComeAsTheEngineStreams: the status when the engine accepts the
// call, each text as it comes, and the end once the call is recorded.
func TestTranslatedStreamsComeAsTheEngineStreams(t *testing.T) {
	for name, api := range made {
		t.Run(name, func(t *testing.T) {
			next := make(chan bool)
			recorded := make(chan bool, 1)
			o := recorder.Options{PingEvery: time.Hour, Ended: func(formats.Call) { recorded <- true }}
			s := engineOf(t, o, func(_ int, q map[string]json.RawMessage, w http.ResponseWriter, r *http.Request) {
				if string(q["stream"]) != "true" || !strings.Contains(string(q["stream_options"]), `"include_usage":true`) {
					t.Errorf("asked with %s", q)
				}
				begins(w)
				for _, events := range []string{role + chunk(`{"reasoning":"hm"}`, 3), chunk(`{"content":"one"}`, 4), chunk(`{"content":" two"}`, 5),
					chunk(`{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\""}}]}`, 6) +
						chunk(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`, 7) + ending("tool_calls", 5)} {
					<-next
					says(w, events)
				}
			})
			a := open(t, s, api.path, api.ask)
			if a.StatusCode != 200 || a.Header.Get("X-Request-Id") != "engine-request" ||
				!strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
				t.Fatalf("%d %v", a.StatusCode, a.Header)
			}
			for _, text := range []string{`"hm"`, `"one"`, `" two"`} {
				next <- true
				a.until(text)
			}
			select {
			case <-recorded:
				t.Error("the call has ended before the engine's stream")
			default:
			}
			next <- true
			end := a.rest()
			select {
			case <-recorded:
			default:
				t.Error("the agent has the end before the call was recorded")
			}
			for _, part := range []string{`{\"a\":1}`, `t1`} {
				if !strings.Contains(end, part) {
					t.Errorf("no %s in %s", part, end)
				}
			}
			rec := s.End()
			want := []string{"-1 user | hi",
				`0 assistant | one two | thinks hm | ends tool_calls | calls t1 f{"a":1} | [3 4 5 6 7] [-1 -1 -1 -1 -1] after [1 2]`}
			if d := cmp.Diff(want, outlines(rec)); d != "" || rec.Untrainable != nil {
				t.Error(d, rec.Untrainable)
			}
			checkRow(t, rec)
		})
	}
}

// TestSilentEnginesArePinged: an agent gets a status and pings, and later errors
// as events of its API.
func TestSilentEnginesArePinged(t *testing.T) {
	for name, api := range made {
		for _, fault := range []string{"429", "400", "cut", "error event", "no finish", "hang up"} {
			t.Run(name+", "+fault, func(t *testing.T) {
				pinged := make(chan bool)
				s := engineOf(t, recorder.Options{PingEvery: time.Millisecond},
					func(n int, q map[string]json.RawMessage, w http.ResponseWriter, r *http.Request) {
						<-pinged
						switch fault {
						case "429", "400":
							w.WriteHeader(map[string]int{"429": 429, "400": 400}[fault])
							io.WriteString(w, `{"error":{"message":"the engine says so"}}`)
							return
						case "hang up":
							panic(http.ErrAbortHandler)
						}
						begins(w)
						says(w, role, chunk(`{"content":"one"}`, 3))
						<-pinged
						switch fault {
						case "cut":
							panic(http.ErrAbortHandler)
						case "error event":
							says(w, `data: {"error":{"message":"the engine says so"}}`+"\n\n")
						case "no finish":
							says(w, "data: [DONE]\n\n")
						}
					})
				a := open(t, s, api.path, api.ask)
				a.until(api.ping)
				pinged <- true
				if fault == "cut" || fault == "error event" || fault == "no finish" {
					a.until(api.text)
					a.until(api.ping)
					pinged <- true
				}
				out := a.rest()
				if !strings.Contains(out, api.fails) || strings.Contains(out, "message_stop") || strings.Contains(out, "response.completed") ||
					(fault == "429" || fault == "400" || fault == "error event") != strings.Contains(out, "the engine says so") {
					t.Errorf("%d %s", a.StatusCode, out)
				}
				rec := s.End()
				if rec.LastCall == nil || rec.LostCall == nil || rec.Calls[0].Error == "" || len(rec.Messages) != 1 {
					t.Errorf("%+v %v", rec.LastCall, outlines(rec))
				}
			})
		}
	}
}

// TestStatusesOfEnginesStay while the agent has no status.
func TestStatusesOfEnginesStay(t *testing.T) {
	for name, api := range made {
		for _, status := range []int{400, 429, 503} {
			s := engineOf(t, recorder.Options{PingEvery: time.Hour}, func(_ int, _ map[string]json.RawMessage, w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(status)
				io.WriteString(w, `{"error":{"message":"the engine says so"}}`)
			})
			a := open(t, s, api.path, api.ask)
			if out := a.rest(); a.StatusCode != status || !strings.Contains(out, "the engine says so") {
				t.Errorf("%s: %d %s", name, a.StatusCode, out)
			}
			s.End()
		}
	}
}

// TestEnginesWhoseStreamsLackLogprobsAnswerWhole, with pings meanwhile. From then
// on they are asked whole at once.
func TestEnginesWhoseStreamsLackLogprobsAnswerWhole(t *testing.T) {
	bare := strings.ReplaceAll(chunk(`{"content":"one"}`, 3), `"logprobs":{"content":[{"logprob":-1}]},"token_ids":[3]`, `"logprobs":null`)
	tools := map[string]list{"/messages": {fields{"name": "f", "input_schema": fields{}}}, "/responses": {fields{"type": "function", "name": "f"}}}
	for engine, stream := range map[string]func(w http.ResponseWriter){
		"refuses logprobs, as llama-server with tools": func(w http.ResponseWriter) {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"code":400,"message":"logprobs is not supported with tools + stream","type":"invalid_request_error"}}`)
		},
		"leaves out the end mark, as llama-server": func(w http.ResponseWriter) {
			w.Header().Set("Server", "llama.cpp")
			begins(w)
			says(w, role, chunk(`{"content":"one"}`, 3), ending("stop", 2))
		},
		"has text without logprobs, as SGLang with tools": func(w http.ResponseWriter) {
			begins(w)
			says(w, role, bare, ending("stop", 1))
		},
	} {
		for name, api := range made {
			t.Run(engine+", "+name, func(t *testing.T) {
				pinged := make(chan bool)
				var streams []string
				s := engineOf(t, recorder.Options{PingEvery: time.Millisecond},
					func(_ int, q map[string]json.RawMessage, w http.ResponseWriter, r *http.Request) {
						streams = append(streams, string(q["stream"]))
						if string(q["stream"]) == "true" {
							stream(w)
							return
						}
						if q["stream_options"] != nil {
							t.Error("a whole answer is asked for with stream_options")
						}
						<-pinged
						io.WriteString(w, `{"id":"c1","model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":"one"},"logprobs":{"content":[{"logprob":-1},{"logprob":-2}]},"token_ids":[3,4],"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":2}}`)
					})
				ask := fields{"tools": tools[api.path]}
				for k, v := range api.ask {
					ask[k] = v
				}
				for range 2 {
					a := open(t, s, api.path, ask)
					a.until(api.ping)
					pinged <- true
					a.until(api.text)
					a.until("one")
					if out := a.rest(); !strings.Contains(out, "message_stop") && !strings.Contains(out, "response.completed") {
						t.Errorf("%s", out)
					}
				}
				rec := s.End()
				if d := cmp.Diff([]string{"true", "false", "false"}, streams); d != "" || rec.Untrainable != nil || len(rec.Messages) != 3 {
					t.Error(d, rec.Untrainable, outlines(rec))
				}
				checkRow(t, rec)
			})
		}
	}
}

// TestTranslatedStreamsEqualWholeAnswers: an agent that puts a stream together has what
// a call without one gives, and the record is the same.
func TestTranslatedStreamsEqualWholeAnswers(t *testing.T) {
	for name, c := range map[string]struct{ stream, whole string }{
		"text": {chunk(`{"content":"one"}`, 3) + chunk(`{"content":" t\u00e9\n"}`, 4), `"content":"one té\n"`},
		"thought, text and call": {chunk(`{"reasoning_content":"hm"}`, 3) + chunk(`{"content":"one"}`, 4) +
			chunk(`{"tool_calls":[{"index":0,"id":"t1","function":{"name":"f","arguments":"{}"}}]}`, 5),
			`"content":"one","reasoning_content":"hm","tool_calls":[{"id":"t1","function":{"name":"f","arguments":"{}"}}]`},
		"call alone": {chunk(`{"tool_calls":[{"index":0,"id":"t1","function":{"name":"f","arguments":"{}"}}]}`, 3),
			`"content":null,"tool_calls":[{"id":"t1","function":{"name":"f","arguments":"{}"}}]`},
		"text, then refusal": {chunk(`{"content":"one"}`, 3) + chunk(`{"refusal":"no"}`, 4), `"content":"one","refusal":"no"`},
		"nothing":            {chunk(`{}`, 3), `"content":""`},
	} {
		tokens := strings.Count(c.stream, "token_ids")
		reason := "stop"
		if strings.Contains(c.stream, "tool_calls") {
			reason = "tool_calls"
		}
		ids := strings.TrimSuffix(strings.Repeat("3,", tokens), ",")
		stream := role + c.stream + ending(reason, tokens)
		for k := range 9 {
			stream = strings.ReplaceAll(stream, fmt.Sprintf(`"token_ids":[%d]}`, k), `"token_ids":[3]}`)
		}
		whole := fmt.Sprintf(`{"id":"c1","created":5,"model":"policy","prompt_token_ids":[1,2],"choices":[{"index":0,"message":{"role":"assistant",%s},"logprobs":{"content":[%s]},"token_ids":[%s],"finish_reason":%q}],"usage":{"prompt_tokens":2,"completion_tokens":%d}}`,
			c.whole, strings.TrimSuffix(strings.Repeat(`{"logprob":-1},`, tokens), ","), ids, reason, tokens)
		for kind, api := range made {
			t.Run(name+", "+kind, func(t *testing.T) {
				var seen, records []any
				for _, streams := range []bool{false, true} {
					_, s := playAs(t, "policy", &tape{bodies: []string{map[bool]string{false: whole, true: stream}[streams]}})
					ask := fields{}
					for k, v := range api.ask {
						ask[k] = v
					}
					ask["stream"] = streams
					status, out := post(t, s.BaseURL()+api.path, ask)
					if status != 200 {
						t.Fatalf("%d %s", status, out)
					}
					var v any
					switch {
					case !streams:
						json.Unmarshal(out, &v)
					case kind == "messages":
						m, _ := messageOf(t, out)
						v = map[string]any(m)
					default:
						events, _ := sentEvents(t, out)
						json.Unmarshal(events[len(events)-1].Response, &v)
						itemsOf(t, events, v.(map[string]any)["output"].([]any))
					}
					text, _ := json.Marshal(v)
					seen = append(seen, string(text))
					rec := s.End()
					checkRow(t, rec)
					for i := range rec.Calls {
						rec.Calls[i].LatencyMS, rec.Calls[i].Endpoint = 0, ""
					}
					records = append(records, rec)
				}
				if d := cmp.Diff(seen[0], seen[1]); d != "" {
					t.Error("the agent sees", d)
				}
				if d := cmp.Diff(records[0], records[1]); d != "" {
					t.Error("recorded is", d)
				}
			})
		}
	}
}

// itemsOf checks that the events of a stream make up the items of its end.
func itemsOf(t *testing.T, events []sent, want []any) {
	t.Helper()
	var got []any
	deltas := map[int]string{}
	for _, e := range events {
		switch e.Type {
		case "response.output_item.done":
			var v any
			json.Unmarshal(e.Item, &v)
			got = append(got, v)
		case "response.output_text.delta", "response.reasoning_text.delta":
			deltas[len(got)] += e.Delta
		case "response.output_text.done", "response.reasoning_text.done":
			if deltas[len(got)] != e.Text {
				t.Errorf("the deltas are %q, the text is %q", deltas[len(got)], e.Text)
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestThoughtsBetweenTexts are shown in the order in which they came.
func TestThoughtsBetweenTexts(t *testing.T) {
	stream := role + chunk(`{"content":"one"}`, 3) + chunk(`{"reasoning":"hm"}`, 4) + chunk(`{"content":" two"}`, 5) + chunk(`{"reasoning":"so"}`, 6) +
		ending("stop", 4)
	for kind, api := range made {
		_, s := playAs(t, "policy", &tape{bodies: []string{stream}})
		_, out := post(t, s.BaseURL()+api.path, api.ask)
		var got []string
		if kind == "messages" {
			m, _ := messageOf(t, out)
			for _, b := range m["content"].(list) {
				text, _ := b.(fields)["text"].(string)
				thought, _ := b.(fields)["thinking"].(string)
				got = append(got, text+thought)
			}
		} else {
			events, _ := sentEvents(t, out)
			for _, e := range events {
				if strings.HasSuffix(e.Type, "_text.done") {
					got = append(got, e.Text)
				}
			}
		}
		if d := cmp.Diff([]string{"one", "hm", " two", "so"}, got); d != "" {
			t.Error(kind, d)
		}
		rec := s.End()
		if m := rec.Messages[1]; m.Content != "one two" || m.Reasoning != "hmso" || rec.Untrainable != nil {
			t.Error(outlines(rec), rec.Untrainable)
		}
		checkRow(t, rec)
	}
}
