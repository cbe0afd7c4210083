package systemtest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/s3test"
)

// TestLiteLLM runs LiteLLM's proxy, with our configuration and our callback, between an agent and the recorder before an engine.
// What import makes of the two logs is what the recorder recorded of the same calls.
func TestLiteLLM(t *testing.T) {
	root, _ := filepath.Abs("../../..")
	bin := filepath.Join(root, ".venv-litellm", "bin")
	if _, err := os.Stat(filepath.Join(bin, "litellm")); err != nil {
		t.Skipf(".ci/install litellm brings it: %v", err)
	}
	engine := adder().Start(t)
	r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{engine.URL()}, Retries: -1}, Defaults: apis.Defaults{Model: "policy"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	session := r.Begin(context.Background(), "t", "g")
	store, logs := s3test.Start(t), t.TempDir()
	proxy := litellm(t, root, bin, "UPSTREAM="+session.BaseURL(), "CALLS_LOG="+filepath.Join(logs, "calls.jsonl"),
		"BUCKET="+s3test.Bucket, "S3_ENDPOINT="+store.URL, "AWS_REGION=us-east-1")
	agent := exec.Command(filepath.Join(bin, "python"), filepath.Join(root, "testdata/agents/gateway_agent.py"))
	agent.Env = append(os.Environ(), "OPENAI_BASE_URL="+proxy+"/v1", "OPENAI_API_KEY="+proxyKey)
	if out, err := agent.CombinedOutput(); err != nil || !strings.Contains(string(out), "FAIL InternalServerError") || !strings.Contains(string(out), "CUT APIError") {
		t.Fatalf("%v: %s", err, out)
	}
	eventually(t, "LiteLLM to write each call to the bucket, too", func() bool {
		data, _ := os.ReadFile(filepath.Join(logs, "calls.jsonl"))
		lines := bytes.Count(data, []byte("\n"))
		return lines >= calls && store.Counts().Put >= lines
	})
	want := session.End()
	for name, in := range map[string]string{"file": logs, "bucket": store.URI("calls")} {
		for count, merged := range map[int][]string{2*3 + 12: nil, 2*2 + 11: {"--merge", "calls"}, 2 + 11: {"--merge", "calls", "--merge-by", "trace_id"}} {
			t.Run(strings.Join(append([]string{name}, merged...), " "), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "rollout")
				code, _, stderr := rollmill(t, append([]string{"import", "--from", "litellm", "--in", in, "--out", out}, merged...)...)
				if code != 0 {
					t.Fatal(stderr)
				}
				_, rows := trajectoriesAt(t, out)
				if len(rows) != count {
					t.Errorf("%d rows, want %d: %s", len(rows), count, stderr)
				}
				compareCalls(t, rows, want, name == "file", merged != nil)
				noCanaries(t, out, rows, stderr)
			})
		}
	}
}

const (
	proxyKey = "sk-0123456789abcdef0123456789abcdef"
	calls    = 2*3 + 12 // of the agent: those of the tasks and the others, with a try that failed; a request that fails thrice is one record
)

// adder is an engine that calls a tool once for each task, and fails as the text says.
func adder() *recordertest.Engine {
	var mu sync.Mutex
	asked := map[string]bool{}
	return &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true,
		Script: func(q recordertest.Request) recordertest.Reply {
			last := q.Messages[len(q.Messages)-1]
			if last.Role == "user" && len(q.Fields["tools"]) > 0 {
				return recordertest.Reply{ToolCalls: []formats.ToolCall{{ID: "call_" + last.Content[:1], Name: "add", Arguments: `{"a": 1,  "b":2}`}}}
			}
			return recordertest.Reply{Content: fmt.Sprintf("the answer %d to %s", q.Choice, last.Content)}
		},
		Pace: func(q recordertest.Request, event int) <-chan struct{} {
			next := make(chan struct{})
			if q.Messages[0].Content == "LEAVE" && event > 2 {
				time.AfterFunc(200*time.Millisecond, func() { close(next) })
			} else {
				close(next)
			}
			return next
		},
		Fault: func(_ int, q recordertest.Request) (f recordertest.Fault) {
			mu.Lock()
			defer mu.Unlock()
			text := q.Messages[len(q.Messages)-1].Content
			switch {
			case strings.HasPrefix(text, "RETRY") && !asked[text]:
				f.Status = http.StatusServiceUnavailable
			case text == "FAIL":
				f.Status = http.StatusInternalServerError
			case text == "CUT":
				f.Kind = recordertest.HalfBody
			}
			asked[text] = true
			return f
		}}
}

// litellm starts the proxy, which ends with the test, and returns its URL.
func litellm(t *testing.T, root, bin string, env ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	var said bytes.Buffer
	cmd := exec.Command(filepath.Join(bin, "litellm"), "--config", filepath.Join(root, "pipelines/traces/litellm.yaml"), "--host", "127.0.0.1", "--port", port,
		"--telemetry", "False")
	cmd.Env = append(append(os.Environ(), env...), "UPSTREAM_KEY=none", "LITELLM_MASTER_KEY="+proxyKey, "LITELLM_LOCAL_MODEL_COST_MAP=True", "NO_DOCS=True",
		"PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if _ = cmd.Wait(); t.Failed() {
			t.Log(said.String()[max(0, said.Len()-8000):])
		}
	})
	url := "http://127.0.0.1:" + port
	eventually(t, "LiteLLM to start", func() bool {
		resp, err := http.Get(url + "/health/liveliness")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
	return url
}

// eventually waits for a minute at most.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// compareCalls holds the answers of rows to those that the recorder recorded: the prompt, text and calls, and the tokens where
// LiteLLM keeps them. merged says that a conversation is one row.
func compareCalls(t *testing.T, rows []formats.Trajectory, want recorder.Record, streams, merged bool) {
	t.Helper()
	recorded := formats.Trajectory{Messages: want.Messages}
	all := map[string][]string{}
	for i := range want.Messages {
		if want.Messages[i].Sampled {
			key := answerOf(&recorded, i, streams)
			all[key] = append(all[key], fmt.Sprint(i))
		}
	}
	check := func(row *formats.Trajectory, i int) {
		key := answerOf(row, i, streams)
		if len(all[key]) == 0 {
			t.Errorf("the recorder recorded no such answer: %s", key)
			return
		}
		all[key] = all[key][1:]
	}
	failed, usage, wanted := 0, [2]int32{}, [2]int32{}
	for _, c := range want.Calls {
		if c.Error == "" {
			wanted[0] += c.PromptTokens
			wanted[1] += c.CompletionTokens
		}
	}
	for k := range rows {
		row := &rows[k]
		for i := range row.Messages {
			if row.Messages[i].Sampled {
				check(row, i)
			}
			m := row.Messages[i]
			lacks := strings.HasSuffix(m.Content, "to stream") || strings.Contains(m.Content, "to by ")
			if m.Sampled && streams && lacks != strings.Contains(row.Metadata, `"no_tokens":`) {
				t.Errorf("%q has the metadata %s", m.Content, row.Metadata)
			}
		}
		for _, c := range row.Candidates { // further choices of an answer
			other := formats.Trajectory{Messages: slices.Clone(row.Messages)}
			m := &other.Messages[c.Message]
			m.Content, m.TokenIDs, m.Logprobs = c.Content, c.TokenIDs, c.Logprobs
			check(&other, int(c.Message))
		}
		for _, c := range row.Calls {
			if c.Error != "" {
				failed++
				continue
			}
			usage[0] += c.PromptTokens
			usage[1] += c.CompletionTokens
		}
	}
	for key, list := range all {
		if len(list) > 0 {
			t.Errorf("not imported: %s", key)
		}
	}
	if failures := map[bool]int{false: 4, true: 3}[merged]; failed != failures || usage != wanted { // the try of RETRY is one with its success
		t.Errorf("%d failed calls, want %d; tokens of prompts and answers %v, want %v", failed, failures, usage, wanted)
	}
}

// answerOf returns what a message answers, what it says, and its tokens, those of streams if asked.
func answerOf(row *formats.Trajectory, i int, streams bool) string {
	m := &row.Messages[i]
	var prompt []string
	for _, k := range row.Path(int(m.Parent)) {
		p := &row.Messages[k]
		prompt = append(prompt, fmt.Sprint(p.Role, ":", redacted(p.Content), p.ToolCallID, p.ToolCalls))
	}
	text := fmt.Sprintf("%s -> %s %v %s", strings.Join(prompt, " | "), redacted(m.Content), m.ToolCalls, m.FinishReason)
	switch {
	case strings.Contains(text, "RETRY"): // it has a key: tokens would spell it
	case strings.Contains(m.Content, "to by "): // the agent did not ask for tokens
	case strings.HasSuffix(m.Content, "to stream"): // LiteLLM's stream lacks the last token, which has no text
	case strings.Contains(text, "a stream and a limit") && !streams: // its record alone has no tokens
	default:
		text += fmt.Sprint(m.TokenIDs, m.Logprobs, chat.PromptIDs(row.Messages, int(m.Parent), m))
	}
	return text
}

// redacted cuts a text before the key that import takes out.
func redacted(text string) string {
	before, _, _ := strings.Cut(text, "the key")
	return before
}

// noCanaries looks for what the agent sent of its users and for its key, in the files of a dataset and in its columns.
func noCanaries(t *testing.T, dir string, rows []formats.Trajectory, said string) {
	t.Helper()
	texts := []string{said, fmt.Sprintf("%+v", rows)}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, bad := os.ReadFile(path)
			texts, err = append(texts, string(data)), bad
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(texts, func(text string) bool { return strings.Contains(text, "canary") || strings.Contains(text, proxyKey) }); i >= 0 {
		at := strings.Index(texts[i], "canary")
		t.Errorf("text %d has a canary: %q", i, texts[i][max(0, at-200):at+40])
	}
}
