package convert_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/foreign/gateway"
	own "github.com/rollmill/rollmill/formats/foreign/rows"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/pipelines/convert/calls/callstest"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// spread returns files that share lines in a random order, some of them twice.
func spread(r *rand.Rand, lines []string, files int) (out []convert.File) {
	for range len(lines) / 10 {
		lines = append(lines, lines[r.IntN(len(lines))])
	}
	r.Shuffle(len(lines), func(i, k int) { lines[i], lines[k] = lines[k], lines[i] })
	contents := make([]strings.Builder, files)
	for _, line := range lines {
		contents[r.IntN(files)].WriteString(line)
	}
	for i := range contents {
		out = append(out, text(fmt.Sprint("log-", i), contents[i].String()))
	}
	return out
}

// TestRecordingsAreImported imports recorded attempts from rows that are one call each, over several files and
// in any order, and compares every column of the conversation with what was recorded. RECORDED names more datasets.
func TestRecordingsAreImported(t *testing.T) {
	all, err := callstest.Recordings(os.DirFS("../../testdata/calls"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range append(strings.Fields(os.Getenv("RECORDED")), "../../testdata/versions/2.0/rollout", "../../testdata/versions/2.4/rollout") {
		old, err := callstest.Rows(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		for i := range old {
			x, err := callstest.Explode(fmt.Sprint(len(all), "-", old[i].TrajectoryID), &old[i], int64(1000+len(all))*1_000_000)
			if err != nil {
				t.Fatal(err)
			}
			if len(x.Calls) > 0 {
				all = append(all, x)
			}
		}
	}
	var log []*callstest.Logged
	var lines []string
	for _, x := range all {
		callstest.Marked(x)
		for _, l := range x.Calls {
			lines = append(lines, string(l.Line(nil)))
			if !callstest.IsText(&l.Row.Calls[0]) {
				log = append(log, l)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	o := options(filepath.Join(t.TempDir(), "out"), spread(r, slices.Clone(lines), 5)...)
	o.Format, o.Merge, o.MergeBy, o.Auxiliary = own.Importer, convert.MergeCalls, "session", tree.AuxiliaryTrain
	run(t, o)
	tell(t, "with their attempts", callstest.CheckSessions(all, imported(t, o.Out.URI)))

	lines = nil
	for _, l := range log {
		lines = append(lines, string(l.Line(nil)))
	}
	o = options(filepath.Join(t.TempDir(), "out"), spread(r, lines, 3)...)
	o.Format, o.Merge, o.Auxiliary = own.Importer, convert.MergeCalls, tree.AuxiliaryTrain
	run(t, o)
	tell(t, "without", callstest.Check(callstest.Expect(all, log, false), callstest.Expect(all, log, true), imported(t, o.Out.URI), true))
}

func tell(t *testing.T, how string, wrong []string) {
	t.Helper()
	for _, text := range wrong[:min(5, len(wrong))] {
		t.Errorf("%s: %s", how, text)
	}
	if len(wrong) > 5 {
		t.Errorf("%s: and %d more", how, len(wrong)-5)
	}
}

// imported returns the rows of a dataset as conversations that were joined.
func imported(t *testing.T, uri string) (out []callstest.Joined) {
	t.Helper()
	all, err := callstest.Rows(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range all {
		j := callstest.Joined{Row: row, Gap: strings.Contains(row.Metadata, `"missing_call":{"before":[0`)}
		if row.FailureClass == outcomes.FailAmbiguousMerge {
			j.Class = row.FailureClass
		}
		out = append(out, j)
	}
	return out
}

// logger stands between a recorder and an engine, and writes down what passes.
type logger struct {
	mu      sync.Mutex
	session string
	lines   []string
}

func (l *logger) handler(engine string) http.Handler {
	to, _ := url.Parse(engine)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: to.Scheme, Host: to.Host})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		began, session := time.Now(), l.session
		l.mu.Unlock()
		asked, _ := io.ReadAll(r.Body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(asked)), int64(len(asked))
		r.Header.Set("Accept-Encoding", "identity")
		answer := &kept{ResponseWriter: w, status: http.StatusOK}
		proxy.ServeHTTP(answer, r)
		l.mu.Lock()
		defer l.mu.Unlock()
		line, _ := json.Marshal(map[string]any{"id": fmt.Sprint("call-", len(l.lines)), "session": session, "path": r.URL.Path, "status": answer.status,
			"started_at": began.Format(time.RFC3339Nano), "finished_at": answer.ended.Format(time.RFC3339Nano),
			"request": string(asked), "response": answer.body.String()})
		l.lines = append(l.lines, string(line)+"\n")
	})
}

// kept is an answer that is written down on its way.
type kept struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
	ended  time.Time // before the agent has the end: it may ask again at once
}

func (k *kept) WriteHeader(status int) {
	k.status = status
	k.ResponseWriter.WriteHeader(status)
}

func (k *kept) Write(b []byte) (int, error) {
	k.body.Write(b)
	k.ended = time.Now()
	return k.ResponseWriter.Write(b)
}

func (k *kept) Flush() { k.ResponseWriter.(http.Flusher).Flush() }

// TestALogBesideTheRecorder has an agent ask an engine through the recorder and a program that logs the
// bodies. What import makes of the log is what the recorder recorded.
func TestALogBesideTheRecorder(t *testing.T) {
	engine := (&recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: says}).Start(t)
	log := &logger{}
	between := httptest.NewServer(log.handler(engine.URL()))
	t.Cleanup(between.Close)
	rec, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{between.URL + "/v1"}, Backoff: time.Millisecond},
		Defaults: apis.Defaults{Model: "policy"}, Target: "policy"})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	want := map[string]formats.Trajectory{}
	for n := range 12 {
		session := fmt.Sprint("s", n)
		log.mu.Lock()
		log.session = session
		log.mu.Unlock()
		s := rec.Begin(context.Background(), session, "g")
		act(t, rand.New(rand.NewPCG(uint64(n), 3)), s.BaseURL())
		record := s.End()
		row := formats.Trajectory{Calls: record.Calls, ToolSets: record.ToolSets, TokenSource: record.TokenSource}
		row.Messages, row.Candidates = tree.SplitAlternatives(record.Messages, record.Calls)
		row.SetTotals()
		want[session] = row
	}
	between.Close() // all is written down
	o := options(filepath.Join(t.TempDir(), "out"), spread(rand.New(rand.NewPCG(1, 1)), log.lines, 4)...)
	o.Format, o.Merge, o.MergeBy = gateway.Calls, convert.MergeCalls, "session"
	run(t, o)
	got, err := callstest.Rows(t.Context(), o.Out.URI)
	if err != nil || len(got) != len(want) {
		t.Errorf("%d rows of %d attempts, %v", len(got), len(want), err)
	}
	for i := range got {
		var meta struct{ Session string }
		if err := json.Unmarshal([]byte(got[i].Metadata), &meta); err != nil {
			t.Fatal(err)
		}
		row := want[meta.Session]
		for k := range row.Calls { // what only the recorder knows, and times
			a, b := &row.Calls[k], &got[i].Calls[k]
			a.Endpoint, a.LatencyMS, a.Attempts, b.Endpoint, b.LatencyMS, b.Attempts = "", 0, 0, "", 0, 0
		}
		if d := callstest.Difference(&got[i], &row); d != "" {
			t.Errorf("%s: %s\nimported:\n%srecorded:\n%s", meta.Session, d, callstest.Outline(&got[i]), callstest.Outline(&row))
		}
	}
}

// says is the policy: it calls tools, and says little.
func says(q recordertest.Request) recordertest.Reply {
	n := len(q.Messages) + q.Choice
	if _, tools := q.Fields["tools"]; tools && n%3 == 2 {
		return recordertest.Reply{Content: "I look.", ToolCalls: []formats.ToolCall{{ID: fmt.Sprint("call_", n), Name: "look", Arguments: `{"at": "` + fmt.Sprint(n) + `"}`}}}
	}
	return recordertest.Reply{Content: fmt.Sprintf("This is answer %d to it.", n)}
}

// act is an agent that goes on, asks again, has a sub-agent, shortens and asks for several answers.
func act(t *testing.T, r *rand.Rand, base string) {
	t.Helper()
	system := map[string]any{"role": "system", "content": "You look."}
	prompt := []any{system, map[string]any{"role": "user", "content": "Do it."}}
	tools := []any{map[string]any{"type": "function", "function": map[string]any{"name": "look", "parameters": map[string]any{"type": "object"}}}}
	for range 4 + r.IntN(6) {
		body := map[string]any{"model": "policy", "messages": prompt, "temperature": 0.5, "tools": tools}
		switch r.IntN(8) {
		case 0:
			body["n"] = 2
		case 1:
			body["messages"] = []any{map[string]any{"role": "system", "content": "You summarise."}, map[string]any{"role": "user", "content": "All of it."}}
			delete(body, "tools")
		case 2:
			body["messages"] = []any{system, map[string]any{"role": "user", "content": "So far: much. Go on."}}
		case 3, 4:
			body["stream"] = true
		}
		answer := post(t, base, body)
		if body["stream"] == true || r.IntN(6) == 0 { // again, and not in a stream
			delete(body, "stream")
			answer = post(t, base, body)
		}
		message := answer.Choices[len(answer.Choices)-1].Message
		prompt = append(slices.Clone(body["messages"].([]any)), message)
		calls, _ := message["tool_calls"].([]any)
		for _, c := range calls {
			prompt = append(prompt, map[string]any{"role": "tool", "tool_call_id": c.(map[string]any)["id"], "content": "seen"})
		}
		if len(calls) == 0 {
			prompt = append(prompt, map[string]any{"role": "user", "content": fmt.Sprint("And then ", r.IntN(5), "?")})
		}
	}
}

type answered struct {
	Choices []struct{ Message map[string]any }
}

func post(t *testing.T, base string, body map[string]any) (a answered) {
	t.Helper()
	data, _ := json.Marshal(body)
	resp, err := http.Post(base+"/chat/completions", "application/json", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s", out)
	}
	_ = json.Unmarshal(out, &a) // of a stream there is nothing
	return a
}
