package systemtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/pipelines/sandbox/sandboxtest"
)

// TestRealWorkflowServer rolls out a workflow of NVIDIA's own server, whose model
// is the sandbox, and compares the dataset with the sandbox's log: each answer has
// the logprobs that were sampled, and the tool was called.
func TestRealWorkflowServer(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	nat := filepath.Join(root, ".venv-nat", "bin", "nat")
	if _, err := os.Stat(nat); err != nil {
		t.Skip("run .ci/venv nat")
	}
	dir := t.TempDir()
	server, err := sandboxtest.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	url := serveWorkflow(t, nat, filepath.Join(root, "testdata", "agents", "nat", "workflow.yml"), web.URL)

	tasks := filepath.Join(dir, "tasks.jsonl")
	if err := os.WriteFile(tasks, []byte(`{"id":"a","question":"what time is it?"}`+"\n"+`{"id":"b","question":"and the date?"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := rollmill(t, "rollout", "--examples", tasks, "--agent", "nat: "+url, "--generations", "3", "--target-function", "<workflow>",
		"--max-failure-rate", "0", "--out", filepath.Join(dir, "rollout"))
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, stderr)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	_, rows := trajectoriesAt(t, out)
	var want, got []string
	for _, s := range server.Samples() {
		short := make([]float32, len(s.Logprobs))
		for i, x := range s.Logprobs {
			short[i] = float32(x)
		}
		want = append(want, fmt.Sprint(short))
	}
	tools := 0
	for _, r := range rows {
		for i, m := range r.Messages {
			if m.Sampled {
				got = append(got, fmt.Sprint(m.Logprobs))
			}
			if m.Sampled { // others are prompts, in which calls come back
				tools += len(m.ToolCalls)
			}
			if m.Role == "tool" && (m.ToolCallID == "" || i == 0 || r.Messages[m.Parent].Role != "assistant" && r.Messages[m.Parent].Role != "tool" ||
				!sampledCall(r, m.ToolCallID)) {
				t.Errorf("%s: a tool's result after no call: %+v", r.ExampleID, m)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(rows) != 6 || len(got) == 0 || !slices.Equal(got, want) {
		t.Errorf("%d rows; recorded:\n%s\nsampled:\n%s", len(rows), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if tools == 0 {
		t.Error("no sampled message holds a tool call: the test shows less than it should")
	}
}

// sampledCall reports whether a sampled message holds a tool call of this id.
func sampledCall(t formats.Trajectory, id string) bool {
	return slices.ContainsFunc(t.Messages, func(m formats.Message) bool {
		return m.Sampled && slices.ContainsFunc(m.ToolCalls, func(c formats.ToolCall) bool { return c.ID == id })
	})
}

// serveWorkflow starts the toolkit's server until the test ends.
func serveWorkflow(t *testing.T, nat, config, engine string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	log, err := os.Create(filepath.Join(t.TempDir(), "nat.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(nat, "serve", "--config_file", config, "--host", "127.0.0.1", "--port", fmt.Sprint(port))
	cmd.Env = append(os.Environ(), "ENGINE="+engine)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		if said, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the server said:\n%s", said[max(0, len(said)-4000):])
		}
	})
	url = fmt.Sprintf("http://127.0.0.1:%d", port)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		if resp, err := http.Get(url + "/health"); err == nil {
			resp.Body.Close()
			return url
		}
		select {
		case <-ended:
			t.Fatal("the server ended")
		case <-ctx.Done():
			t.Fatal("the server does not answer")
		case <-time.After(100 * time.Millisecond):
		}
	}
}
