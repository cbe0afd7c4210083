package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/arrow"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/stages/score"
)

// TestMessagesMatchSchemas runs an epoch with programs and services, keeps what
// goes over the wire in both directions, and validates every line.
func TestMessagesMatchSchemas(t *testing.T) {
	dir, programs := t.TempDir(), "../../testdata"
	for _, name := range []*string{&dir, &programs} {
		abs, err := filepath.Abs(*name)
		if err != nil {
			t.Fatal(err)
		}
		*name = abs
	}
	t.Chdir(dir)
	writeText(t, "keep.sh", `name=$1; shift; tee -a "$name.in" | "$@" | tee -a "$name.out"`)
	writeText(t, "examples.jsonl", `{"id":"a","question":"what is 2 + 3?","answer":"5"}`+"\n"+`{"id":"b","level":3}`)
	server, err := sandbox.New(sandbox.Options{Models: []string{"tests/policy"}})
	if err != nil {
		t.Fatal(err)
	}
	engine := httptest.NewServer(server)
	defer engine.Close()
	defer server.Close()
	service := &keeper{}
	web := httptest.NewServer(service)
	defer web.Close()

	keep := func(name, program string) string { return "sh keep.sh " + name + " " + program }
	rollout := []string{"rollout", "--examples", "examples.jsonl", "--generations", "2", "--url", engine.URL + "/v1", "--model", "policy",
		"--max-failure-rate", "0", "--concurrency", "1"} // keep.sh does not write whole lines
	succeed(t, append(rollout, "--agent", "http: "+web.URL+"/run", "--out", "services/rollout")...)
	succeed(t, append(rollout, "--agent", "command: "+keep("agent", "python3 "+programs+"/agents/plain_agent.py"), "--out", "rollout")...)
	succeed(t, "score", "--in", "rollout", "--reward", "first=command:"+keep("reward", "python3 "+programs+"/rewards/json_reward.py"), "--reward",
		"second=http:"+web.URL+"/score", "--reward", "third=expr:generation", "--out", "score")
	succeed(t, "group", "--in", "score", "--out", "group")
	succeed(t, "curate", "--in", "group", "--out", "curate")
	receipt := succeed(t, "submit", "--in", "curate", "--backend", "command", "--trainer", keep("trainer", "sh "+programs+"/programs/trainer.sh"), "--settings",
		"lr=1e-5", "--out", "submit")
	succeed(t, "job", "status", "--in", receipt)

	if service.tasks == nil || service.rows == nil {
		t.Error("a service was not called")
	}
	writeText(t, "http-agent.in", string(service.tasks))
	writeText(t, "http-reward.in", string(service.rows))
	for file, is := range map[string]string{"agent.in": "agent-task", "agent.out": "agent-result", "http-agent.in": "agent-task", "reward.in": "reward-request",
		"reward.out": "reward-answer", "http-reward.in": "reward-request", "trainer.in": "trainer-request", "trainer.out": "trainer-answer"} {
		data, err := os.ReadFile(file)
		if err != nil || len(bytes.TrimSpace(data)) == 0 {
			t.Errorf("%s: %q, %v", file, data, err)
		}
		for line := range bytes.Lines(data) {
			matches(t, is, line)
		}
	}
}

// TestRewardRequestsMatchTheSchema validates requests about rows with tools,
// branches and failures.
func TestRewardRequestsMatchTheSchema(t *testing.T) {
	for group := range randomtest.Trajectories(5, randomtest.Options{Groups: 4, Generations: 8, Messages: 20, SampledTokens: 200}) {
		for i := range group {
			request, err := score.NewRequest(&score.Row{Trajectory: &group[i], Known: []formats.NamedReward{{Name: "none"}}}, "x", 1)
			if err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			matches(t, "reward-request", line)
		}
	}
}

// TestRecordBatchesHaveTheNamesOfTheSchema compares the columns of the Arrow stream
// with the properties of the JSON request.
func TestRecordBatchesHaveTheNamesOfTheSchema(t *testing.T) {
	var stream bytes.Buffer
	row := randomtest.Group(1, 0, randomtest.Options{Groups: 1, Generations: 1})[0]
	if err := arrow.NewRequestWriter(&stream).Write([]arrow.Request{{Trajectory: &row}}); err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(&stream)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	var columns []string
	for _, f := range r.Schema().Fields() {
		columns = append(columns, f.Name)
	}
	request := schemaOf(t, "reward-request").Properties
	delete(request, "protocol") // of lines: columns have types
	properties := slices.Collect(maps.Keys(request))
	slices.Sort(columns)
	slices.Sort(properties)
	if !slices.Equal(columns, properties) {
		t.Errorf("columns %v, properties %v", columns, properties)
	}
}

// TestSchemasRefuse checks that the schemas say something.
func TestSchemasRefuse(t *testing.T) {
	for is, lines := range map[string][]string{
		"agent-task": {`{}`, `{"id":1}`}, "agent-result": {`{"answer":["5"]}`, `{"stop":"whenever"}`, `{"reward":"good"}`, `{"metadata":[]}`},
		"reward-request": {`{"id":"a"}`}, "reward-answer": {`{"reward":1}`, `{"id":"a","reward":"1"}`, `{"id":"a","shaped_rewards":[null]}`},
		"trainer-request": {`{"protocol":"rollmill-trainer/2","request":"begin","model":"m","epoch":0}`},
		"trainer-answer":  {`{"state":"pondering"}`, `{"metrics":[1]}`},
	} {
		for _, line := range lines {
			if invalid(t, is, []byte(line)) == nil {
				t.Errorf("%s accepts %s", is, line)
			}
		}
	}
}

// matches validates a line, which may have no property that the schema does not
// name, with the file that the program prints.
func matches(t *testing.T, is string, line []byte) {
	t.Helper()
	if err := invalid(t, is, line); err != nil {
		t.Errorf("%s: %s: %v", is, line, err)
	}
}

func invalid(t *testing.T, is string, line []byte) error {
	t.Helper()
	s := schemaOf(t, is)
	each(s, func(s *jsonschema.Schema) {
		if s.Properties != nil {
			s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		}
	})
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(line, &value); err != nil {
		return err
	}
	return resolved.Validate(value)
}

// schemaOf reads the file that the program prints.
func schemaOf(t *testing.T, is string) *jsonschema.Schema {
	t.Helper()
	data, err := schemaFiles.ReadFile("doc/schemas/" + is + ".json")
	if err != nil {
		t.Fatal(err)
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// keeper is an agent service, which calls no model, and a reward service.
type keeper struct {
	mu          sync.Mutex
	tasks, rows []byte
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path == "/run" {
		k.tasks = append(k.tasks, body...)
		var task struct {
			BaseURL string `json:"base_url"`
			Model   string
		}
		_ = json.Unmarshal(body, &task)
		asked, err := http.Post(task.BaseURL+"/chat/completions", "application/json",
			bytes.NewReader([]byte(`{"model":"`+task.Model+`","messages":[{"role":"user","content":"go"}]}`)))
		if err == nil {
			asked.Body.Close()
		}
		return
	}
	k.rows = append(k.rows, body...)
	for line := range bytes.Lines(body) {
		var row struct{ ID string }
		_ = json.Unmarshal(line, &row)
		answer, _ := json.Marshal(map[string]any{"id": row.ID, "reward": 1})
		_, _ = w.Write(append(answer, '\n'))
	}
}

func succeed(t *testing.T, args ...string) string {
	t.Helper()
	code, out, stderr := rollmill(t, args...)
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, stderr)
	}
	return out
}

func writeText(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
