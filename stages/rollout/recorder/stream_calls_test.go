package recorder_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// streamOf is a stream of tool calls in pieces, a token each.
func streamOf(pieces ...string) string {
	out := role
	for i, p := range pieces {
		out += chunk(`{"tool_calls":[`+p+`]}`, i+3)
	}
	return out + ending("tool_calls", len(pieces))
}

// TestToolCallsInStreams: what is recorded of a stream's pieces, and what agents of
// translated APIs get, are the calls that clients read from them.
func TestToolCallsInStreams(t *testing.T) {
	for name, c := range map[string]struct {
		pieces    []string
		want      string
		ambiguous bool
	}{
		"as the API says": {[]string{`{"index":0,"id":"A","function":{"name":"f","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"a\":"}}`,
			`{"index":1,"id":"B","function":{"name":"g","arguments":""}}`, `{"index":0,"function":{"arguments":"1}"}}`,
			`{"index":1,"function":{"arguments":"{}"}}`}, `A f{"a":1} B g{}`, false},
		"parallel calls of one index": {[]string{`{"index":0,"id":"A","function":{"name":"f","arguments":"{\"a\":1}"}}`,
			`{"index":0,"id":"B","function":{"name":"g","arguments":"{}"}}`}, `A f{"a":1} B g{}`, true},
		"the same in pieces": {[]string{`{"index":0,"id":"A","function":{"name":"f","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"a\":1}"}}`,
			`{"index":0,"id":"B","function":{"name":"f","arguments":""}}`, `{"index":0,"function":{"arguments":"{}"}}`}, `A f{"a":1} B f{}`, true},
		"the same without ids": {[]string{`{"index":0,"function":{"name":"f","arguments":"{\"a\":1}"}}`, `{"index":0,"function":{"name":"f","arguments":"{}"}}`},
			`? f{"a":1} ? f{}`, true},
		"a name in each piece": {[]string{`{"index":0,"id":"A","function":{"name":"f_g","arguments":"{\"a\""}}`,
			`{"index":0,"function":{"name":"f_g","arguments":":1"}}`, `{"index":0,"id":"A","function":{"name":"f_g","arguments":"}"}}`}, `A f_g{"a":1}`, true},
		"a new id in each piece": {[]string{`{"index":0,"id":"A","function":{"name":"f","arguments":"{\"a\""}}`,
			`{"index":0,"id":"B","function":{"name":"f","arguments":":1"}}`, `{"index":0,"id":"C","function":{"arguments":"}"}}`}, `A f{"a":1}`, true},
		"a name in two parts": {[]string{`{"index":0,"id":"A","function":{"name":"get_","arguments":""}}`, `{"index":0,"function":{"name":"it","arguments":"{}"}}`},
			`A get_it{}`, true},
		"a late id": {[]string{`{"index":0,"function":{"name":"f","arguments":"{"}}`, `{"index":0,"id":"A","function":{"arguments":"}"}}`}, `A f{}`, true},
		"indexes out of order": {[]string{`{"index":1,"id":"B","function":{"name":"g","arguments":"{"}}`, `{"index":0,"id":"A","function":{"name":"f","arguments":"{"}}`,
			`{"index":1,"function":{"arguments":"}"}}`, `{"index":0,"function":{"arguments":"}"}}`}, `A f{} B g{}`, true},
		"indexes from 1": {[]string{`{"index":1,"id":"A","function":{"name":"f","arguments":"{"}}`, `{"index":1,"function":{"arguments":"}"}}`,
			`{"index":2,"id":"B","function":{"name":"f","arguments":"{}"}}`}, `A f{} B f{}`, true},
		"no index": {[]string{`{"id":"A","function":{"name":"f","arguments":"{"}}`, `{"function":{"arguments":"}"}}`,
			`{"id":"B","function":{"name":"f","arguments":"{}"}}`}, `A f{} B f{}`, true},
		"no index, no id":            {[]string{`{"function":{"name":"f","arguments":"{}"}}`, `{"function":{"name":"g","arguments":"{}"}}`}, `? f{} ? g{}`, true},
		"one id for two calls":       {[]string{`{"index":0,"id":"A","function":{"name":"f","arguments":"{}"}}`, `{"index":1,"id":"A","function":{"name":"g","arguments":"{}"}}`}, `A f{} ? g{}`, true},
		"interleaved with one index": {[]string{`{"index":0,"id":"A","function":{"name":"f","arguments":"{"}}`, `{"index":0,"id":"B","function":{"name":"g","arguments":"{"}}`, `{"index":0,"id":"A","function":{"arguments":"}"}}`, `{"index":0,"id":"B","function":{"arguments":"}"}}`}, `A f{} B g{}`, true},
		"null where nothing is":      {[]string{`{"index":0,"id":"A","function":{"name":"f","arguments":null}}`, `{"index":0,"id":null,"function":{"name":null,"arguments":"{}"}}`}, `A f{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			for path, q := range map[string]fields{"/chat/completions": {"messages": []fields{user("hi")}}, "/messages": {"messages": []fields{user("hi")}}, "/responses": {"input": "hi"}} {
				_, s := play(t, streamOf(c.pieces...))
				q["model"], q["stream"] = "policy", true
				status, out := post(t, s.BaseURL()+path, q)
				rec := s.End()
				if status != 200 || rec.Untrainable != nil || len(rec.Messages) != 2 {
					t.Fatalf("%s: %d %v: %s", path, status, rec.Untrainable, out)
				}
				got, ids, want := "", map[string]bool{}, c.want
				for _, call := range rec.Messages[1].ToolCalls {
					if ids[call.ID] || call.ID == "" {
						if path != "/chat/completions" {
							t.Errorf("%s: the id %q is no call's own", path, call.ID)
						}
						call.ID = "?"
					}
					if ids[call.ID] = true; strings.HasPrefix(call.ID, "call_") {
						call.ID = "?"
					}
					got += " " + call.ID + " " + call.Name + call.Arguments
				}
				if d := cmp.Diff(want, strings.TrimSpace(got)); d != "" {
					t.Errorf("%s: %s", path, d)
				}
				if marked := rec.Calls[0].Settings().AmbiguousCalls; marked != c.ambiguous {
					t.Errorf("%s: sampling %s", path, rec.Calls[0].Sampling)
				}
				for _, call := range rec.Messages[1].ToolCalls {
					if path != "/chat/completions" && !bytes.Contains(out, []byte(`"name":"`+call.Name+`"`)) {
						t.Errorf("%s: the agent did not read of %s: %s", path, call.Name, out)
					}
				}
				checkRow(t, rec)
			}
		})
	}
}

// caseStreams are streams of the same calls as different engines would write them.
func caseStreams(n int) (out []string) {
	r := rand.New(rand.NewPCG(7, 7))
	for range n {
		names := []string{"get_weather", "get_time", "get_weather"}[:1+r.IntN(3)]
		index, id, name, interleaved := r.IntN(6), r.IntN(7), r.IntN(6), r.IntN(3) == 0
		var each [][]string
		for k, called := range names {
			arguments := fmt.Sprintf(`{"city":"c%d"}`, k)
			var parts []string
			if r.IntN(2) == 0 {
				parts = append(parts, "")
			}
			for cut := r.IntN(3); cut > 0 && len(arguments) > 1; cut-- {
				n := 1 + r.IntN(len(arguments)-1)
				parts, arguments = append(parts, arguments[:n]), arguments[n:]
			}
			parts = append(parts, arguments)
			var pieces []string
			for i, part := range parts {
				p, f := fields{}, fields{"arguments": part}
				switch index {
				case 0, 1, 2:
					p["index"] = k
				case 3:
					p["index"] = 0
				case 4:
					p["index"] = len(names) - 1 - k
				}
				switch {
				case id <= 2 && i == 0, id == 3, id == 4 && i == len(parts)-1:
					p["id"] = fmt.Sprint("id-", k)
				case id == 5:
					p["id"] = fmt.Sprintf("id-%d-%d", k, i)
				}
				switch {
				case name <= 2 && i == 0, name == 3:
					f["name"] = called
				case name == 4 && i == 0 && len(parts) > 1:
					f["name"] = called[:4]
				case name == 4 && i == 1:
					f["name"] = called[4:]
				case name == 5:
					f["name"] = map[bool]string{true: called}[i == 0]
				}
				if p["function"] = f; i == 0 {
					p["type"] = "function"
				}
				text, _ := json.Marshal(p)
				pieces = append(pieces, string(text))
			}
			each = append(each, pieces)
		}
		var all []string
		for len(each) > 0 {
			k := 0
			if interleaved {
				k = r.IntN(len(each))
			}
			all = append(all, each[k][0])
			if each[k] = each[k][1:]; len(each[k]) == 0 {
				each = append(each[:k:k], each[k+1:]...)
			}
		}
		out = append(out, strings.ReplaceAll(streamOf(all...), `data: {"id":`, `data: {"object":"chat.completion.chunk","id":`))
	}
	return out
}

// TestToolCallsAsClientsReadThem: the same streams are read by this package, by the clients of
// OpenAI, by the AI SDK and by LiteLLM. Where all of them agree, what is recorded agrees too,
// and where they do not, the call's sampling says so.
func TestToolCallsAsClientsReadThem(t *testing.T) {
	python := root(".venv-frameworks/bin/python")
	if exec.Command(python, "-c", "import openai, litellm").Run() != nil {
		t.Skip("no Python with the frameworks: run .ci/install frameworks")
	}
	if _, err := os.Stat(root(".stores/frameworks-node/node_modules")); err != nil {
		t.Skip("no AI SDK: run .ci/install frameworks-node")
	}
	count, _ := strconv.Atoi(os.Getenv("COUNT"))
	streams := caseStreams(max(count, 40))
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Model string }
		json.NewDecoder(r.Body).Decode(&q)
		k, _ := strconv.Atoi(strings.TrimPrefix(q.Model, "case-"))
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, streams[k])
	}))
	t.Cleanup(engine.Close)
	rec, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{engine.URL + "/v1"}, Retries: -1}, Defaults: apis.Defaults{Model: "policy"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	type calls = [][3]string
	readers := [][]string{{python, root("testdata/harnesses/calls.py"), "openai"}, {python, root("testdata/harnesses/calls.py"), "litellm"},
		{"node", root("testdata/harnesses/calls.mjs"), "openai"}, {"node", root("testdata/harnesses/calls.mjs"), "ai"}}
	readings, records := make([][]string, len(readers)), make([]recorder.Record, len(readers))
	var wait sync.WaitGroup
	for i, command := range readers {
		s := rec.Begin(context.Background(), strings.Join(command, " "), "g")
		wait.Go(func() {
			out := run(t, t.TempDir(), nil, []string{"NODE_MODULES=" + root(".stores/frameworks-node")}, append(command, s.BaseURL(), strconv.Itoa(len(streams)))...)
			readings[i], records[i] = strings.Split(out, "\n"), s.End()
		})
	}
	wait.Wait()
	for i := range readers {
		if len(readings[i]) != len(streams)+1 || len(records[i].Calls) != len(streams) {
			t.Fatalf("%v read %d of %d streams", readers[i], len(readings[i])-1, len(streams))
		}
	}
	recorded := records[0]
	ours := map[int]formats.Message{}
	for _, m := range recorded.Messages {
		if m.Sampled {
			ours[int(m.Call)] = m
		}
	}
	agreed, marked := 0, 0
	for k := range streams {
		var read []calls
		for i := range readers {
			var c calls
			if json.Unmarshal([]byte(readings[i][k]), &c) != nil {
				c = calls{{"raised"}}
			}
			read = append(read, c)
		}
		alike := true
		for _, c := range read[1:] {
			alike = alike && cmp.Equal(read[0], c)
		}
		var own calls
		for _, c := range ours[k].ToolCalls {
			own = append(own, [3]string{c.ID, c.Name, c.Arguments})
		}
		ambiguous := recorded.Calls[k].Settings().AmbiguousCalls
		switch {
		case alike && !cmp.Equal(own, read[0]):
			t.Errorf("all read %v, recorded was %v of\n%s", read[0], own, streams[k])
		case !alike && !ambiguous:
			t.Errorf("read as %v, and not marked:\n%s", read, streams[k])
		}
		if alike {
			agreed++
		}
		if ambiguous {
			marked++
		}
	}
	t.Logf("%d streams: %d read alike by all, %d marked", len(streams), agreed, marked)
	if agreed < len(streams)/20 || marked < len(streams)/4 {
		t.Errorf("of %d streams %d are read alike and %d are marked", len(streams), agreed, marked)
	}
}
