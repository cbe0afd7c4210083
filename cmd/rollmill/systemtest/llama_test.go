package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

const addTools = `[{"type":"function","function":{"name":"add","description":"add two numbers","parameters":{"type":"object","properties":{"a":{"enum":[1,2]},"b":{"enum":[3]}},"required":["a","b"]}}}]`

// TestLlamaServer records a real engine with a model of random weights. Complete
// answers are recorded token by token; an answer in which the engine merged or
// omitted tokens, or a refused request, fails with a named class.
func TestLlamaServer(t *testing.T) {
	server := os.Getenv("LLAMA_SERVER")
	if server == "" {
		t.Skip("make llama runs it")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if server, err = filepath.Abs(filepath.Join(root, server)); err != nil {
		t.Fatal(err)
	}
	ask := func(route, body string) string {
		return fmt.Sprintf(`command: sh '%s' %s '%s'`, filepath.Join(root, "testdata", "llama", "ask.sh"), route, body)
	}
	question := `"messages":[{"role":"user","content":"what is 2 + 3?"}]`
	tools := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(tools, []byte(addTools), 0o666); err != nil {
		t.Fatal(err)
	}
	text, bytes := serveLlama(t, server, root), serveLlama(t, server, root, "-any-bytes")
	for _, c := range []struct {
		name  string
		url   string
		args  []string
		fail  string // how many rows fail: none, some, all
		class string // as they fail
		says  string
		holds func(*formats.Trajectory) bool // must be true for a row that does not fail
	}{
		{"chat", text, []string{"--agent", "chat"}, "none", "", "", func(r *formats.Trajectory) bool { return len(r.Messages) == 2 }},
		{"completion", text, []string{"--agent", ask("completions", `{"prompt":"2 + 3 = "}`)}, "none", "", "", nil},
		{"no alternatives", text, []string{"--agent", ask("chat/completions", `{"top_logprobs":0,`+question+`}`)}, "none", "", "", nil},
		{"tools", text, []string{"--agent", ask("chat/completions", `{"tools":`+addTools+`,"tool_choice":"required","max_tokens":150,`+question+`}`)},
			"none", "", "",
			func(r *formats.Trajectory) bool { return len(r.Messages[1].ToolCalls) > 0 }},
		// of a call that was cut, given back
		{"tools in a conversation", text, []string{"--agent", "chat", "--tool", "add=echo 5", "--tools", tools, "--sampling", "max_tokens=150"}, "some",
			outcomes.FailEngine, "Failed to parse tool call arguments",
			func(r *formats.Trajectory) bool {
				return len(r.Messages) > 2 && r.Messages[2].Role == "tool" && r.Messages[3].Sampled
			}},
		{"stream", text, []string{"--agent", ask("chat/completions", `{"stream":true,`+question+`}`)}, "none", "", "", nil}, // asked whole
		{"streamed tools", text, []string{"--agent",
			ask("chat/completions", `{"stream":true,"tools":`+addTools+`,"tool_choice":"required","max_tokens":150,`+question+`}`)}, "none", "", "",
			func(r *formats.Trajectory) bool { return len(r.Messages[1].ToolCalls) > 0 }},
		// the engine counts only one of them
		{"two choices", text, []string{"--agent", ask("chat/completions", `{"n":2,`+question+`}`)}, "all", outcomes.FailLogprobMismatch,
			"completion tokens", nil},
		// incomplete characters are merged
		{"any bytes", bytes, []string{"--agent", "chat", "--sampling", "max_tokens=4"}, "some", outcomes.FailLogprobMismatch, "completion tokens", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := rolloutAt(t, c.url, 8, c.args...)
			held, failed := c.holds == nil, 0
			for i := range rows {
				r := &rows[i]
				if r.Status != outcomes.StatusFailed {
					checkLlama(t, r)
					held = held || c.holds(r)
					continue
				}
				failed++
				if missing := r.FailureClass == outcomes.FailNoLogprobs && c.name == "any bytes"; !missing &&
					(r.FailureClass != c.class || !strings.Contains(r.Error, c.says)) {
					t.Errorf("%s: %s: %s", r.TrajectoryID, r.FailureClass, r.Error)
				}
			}
			if want := map[string]bool{"none": failed == 0, "some": failed > 0 && failed < len(rows), "all": failed == len(rows)}; !want[c.fail] {
				t.Errorf("%d of %d rows failed", failed, len(rows))
			}
			if !held && c.fail != "all" {
				t.Error("no row has the expected content")
			}
		})
	}
}

// serveLlama starts the server with a model and returns its base URL. The server
// stops when the test ends.
func serveLlama(t *testing.T, server, root string, flags ...string) string {
	t.Helper()
	model := filepath.Join(t.TempDir(), strings.Join(append([]string{"tiny"}, flags...), "")+".gguf")
	write := exec.Command("go", append([]string{"run", "./testdata/llama", "-out", model}, flags...)...)
	write.Dir = root
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	var stderr bytes.Buffer
	cmd := exec.Command("sh", server, model, port)
	cmd.Stdout, cmd.Stderr = &stderr, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Kill() // the script became the server
		<-ended
	})
	url := "http://127.0.0.1:" + port
	for {
		if resp, err := http.Get(url + "/health"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return url + "/v1"
			}
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the server ended: %v: %s", err, stderr.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// checkLlama checks that the tokens of a row, decoded with the model's vocabulary,
// are the answer's text, and that their number is the engine's count.
func checkLlama(t *testing.T, r *formats.Trajectory) {
	t.Helper()
	counted := make([]int, len(r.Calls))
	for _, m := range r.Messages {
		if !m.Sampled {
			continue
		}
		counted[m.Call] += len(m.Logprobs)
		said := ""
		for _, id := range m.TokenIDs {
			said += llamaText(id)
		}
		if len(m.TokenIDs) != len(m.Logprobs) ||
			len(m.ToolCalls) == 0 && strings.TrimSpace(strings.TrimSuffix(string([]rune(said)), "<|im_end|>")) != strings.TrimSpace(m.Content) {
			t.Errorf("%s: %d ids, %d logprobs; the tokens say %q, the text is %q", r.TrajectoryID, len(m.TokenIDs), len(m.Logprobs), said, m.Content)
		}
		for _, c := range m.ToolCalls {
			if !json.Valid([]byte(c.Arguments)) && m.FinishReason != "length" || c.Name != "add" || !strings.Contains(said, "<tool_call>") {
				t.Errorf("%s: the call %+v of the tokens %q", r.TrajectoryID, c, said)
			}
		}
	}
	for k, c := range r.Calls {
		if counted[k] != int(c.CompletionTokens) || counted[k] == 0 {
			t.Errorf("%s: call %d has %d logprobs for %d tokens", r.TrajectoryID, k, counted[k], c.CompletionTokens)
		}
	}
}

// llamaText returns the text of a token of the model in testdata/llama.
func llamaText(id int32) string {
	if id < 256 {
		return string([]byte{byte(id)})
	}
	return [...]string{"he", "ll", "th", "in", "er", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>\n{\"name\": \"", "</tool_call>"}[id-256]
}
