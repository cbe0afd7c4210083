package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// TestVLLM records a real vLLM that serves a tiny trained model. Every token id and
// logprob is compared bit for bit with the engine's response, and with the logprobs
// that the same weights give the same ids in a prompt (teacher forcing).
func TestVLLM(t *testing.T) {
	if os.Getenv("VLLM") == "" {
		t.Skip("make vllm runs it")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	engine := serveVLLM(t, root)
	tap := tapWire(t, engine)
	for _, c := range []struct {
		mode       string
		sampled    int  // messages of each row
		candidates int  // of each row
		tools      bool // tool calls are expected
		masked     bool // a grammar masks what is sampled
		broken     bool // the engine may break a stream off
	}{
		{mode: "turns", sampled: 3},
		{mode: "turns-stream", sampled: 3},
		{mode: "stop", sampled: 1},
		{mode: "stop-stream", sampled: 1},
		{mode: "choices", sampled: 1, candidates: 1},
		{mode: "choices-stream", sampled: 1, candidates: 1},
		{mode: "tools", sampled: 2, tools: true},
		{mode: "tools-stream", sampled: 2, tools: true, broken: true}, // if its parser fails on a call
		{mode: "required", sampled: 2, tools: true, masked: true},
		{mode: "required-stream", sampled: 2, tools: true, masked: true},
		{mode: "schema", sampled: 1, masked: true},
		{mode: "settings", sampled: 1},
		{mode: "completions", sampled: 1},
		{mode: "responses", sampled: 2},
		{mode: "responses-stream", sampled: 2},
		{mode: "functions", sampled: 2, tools: true},                      // of /v1/responses
		{mode: "functions-stream", sampled: 2, tools: true, broken: true}, // if its parser fails on a call
	} {
		t.Run(c.mode, func(t *testing.T) {
			agent := fmt.Sprintf("command: '%s' '%s' %s", filepath.Join(root, ".venv-vllm/bin/python"), filepath.Join(root, "testdata/vllm/agent.py"), c.mode)
			rows := rolloutAt(t, tap.url, 3, "--agent", agent)
			answers := tap.take(t)
			called, tokens, failed, worst := 0, 0, 0, 0.0
			for i := range rows {
				r := &rows[i]
				if r.Status == outcomes.StatusFailed && c.broken && r.FailureClass == outcomes.FailEngine && strings.Contains(r.Error, "unexpected EOF") {
					failed++
					continue
				}
				if r.Status == outcomes.StatusFailed {
					t.Errorf("%s: %s: %s", r.TrajectoryID, r.FailureClass, r.Error)
					continue
				}
				if len(r.Candidates) != c.candidates {
					t.Errorf("%s: %d candidates, want %d", r.TrajectoryID, len(r.Candidates), c.candidates)
				}
				all := sampledOf(r)
				if len(all) != c.sampled+c.candidates {
					t.Errorf("%s: %d sampled answers, want %d", r.TrajectoryID, len(all), c.sampled+c.candidates)
				}
				for _, s := range all {
					if !slices.ContainsFunc(answers, s.equal) {
						t.Errorf("%s: an answer of %d ids after %d (prefix break %q) is not on the wire", r.TrajectoryID, len(s.ids), len(s.prompt),
							s.prefixBreak)
					}
					tokens += len(s.ids)
					if !c.masked {
						worst = max(worst, teacherForced(t, engine, s.wireAnswer))
					}
				}
				for _, m := range r.Messages {
					called += len(m.ToolCalls)
				}
			}
			if worst > 1e-4 {
				t.Errorf("logprobs differ by up to %g from teacher forcing", worst)
			}
			if c.tools != (called > 0) {
				t.Errorf("%d tool calls", called)
			}
			if 2*failed > len(rows) {
				t.Errorf("%d of %d rows failed", failed, len(rows))
			}
			t.Logf("%d rows, %d tokens, %d tool calls, at most %.2g from teacher forcing", len(rows), tokens, called, worst)
		})
	}
}

// sampledAnswer is an answer in a row, with its whole prompt.
type sampledAnswer struct {
	wireAnswer
	prefixBreak string
}

func (s sampledAnswer) equal(w wireAnswer) bool {
	return slices.Equal(s.prompt, w.prompt) && slices.Equal(s.ids, w.ids) && slices.Equal(s.logprobs, w.logprobs)
}

// sampledOf returns the sampled messages of a row and the candidates next to them.
func sampledOf(r *formats.Trajectory) []sampledAnswer {
	var out []sampledAnswer
	prompts := make([][]int32, len(r.Messages))
	for i, m := range r.Messages {
		if !m.Sampled {
			continue
		}
		parent := m.Parent
		for parent >= 0 && !r.Messages[parent].Sampled {
			parent = r.Messages[parent].Parent
		}
		prompt := m.PromptDeltaIDs
		if parent >= 0 && m.PrefixBreak == "" {
			prompt = slices.Concat(prompts[parent], r.Messages[parent].TokenIDs, m.PromptDeltaIDs)
		}
		prompts[i] = prompt
		out = append(out, sampledAnswer{wireAnswer{prompt: prompt, ids: m.TokenIDs, logprobs: m.Logprobs}, m.PrefixBreak})
	}
	for _, c := range r.Candidates {
		out = append(out, sampledAnswer{wireAnswer: wireAnswer{prompt: prompts[c.Message], ids: c.TokenIDs, logprobs: c.Logprobs}})
	}
	return out
}

// teacherForced returns the largest difference, in nats, between the logprobs of
// an answer and those that the engine gives the same ids in a prompt.
func teacherForced(t *testing.T, engine string, a wireAnswer) float64 {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "tiny", "prompt": slices.Concat(a.prompt, a.ids), "max_tokens": 1, "prompt_logprobs": 0,
		"temperature": 0})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(engine+"/v1/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var said struct {
		Choices []struct {
			Prompt []map[string]struct{ Logprob float64 } `json:"prompt_logprobs"`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || len(said.Choices) != 1 || len(said.Choices[0].Prompt) != len(a.prompt)+len(a.ids) {
		t.Fatalf("prompt logprobs of %d ids: %s, %v", len(a.prompt)+len(a.ids), resp.Status, err)
	}
	worst := 0.0
	for i, id := range a.ids {
		entry, ok := said.Choices[0].Prompt[len(a.prompt)+i][fmt.Sprint(id)]
		if !ok {
			t.Fatalf("the engine returned no logprob for id %d", id)
		}
		worst = max(worst, math.Abs(entry.Logprob-float64(a.logprobs[i])))
	}
	return worst
}

// serveVLLM starts the server and returns its address. The server stops when the
// test ends.
func serveVLLM(t *testing.T, root string, flags ...string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	log, err := os.Create(filepath.Join(t.TempDir(), "vllm.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", append([]string{filepath.Join(root, "testdata/vllm/serve.sh"), port}, flags...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the engine starts further processes
		<-ended
		log.Close()
	})
	address := "http://127.0.0.1:" + port
	for {
		if resp, err := http.Get(address + "/health"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return address
			}
		}
		select {
		case err := <-ended:
			ended <- err
			stderr, _ := os.ReadFile(log.Name())
			t.Fatalf("the server ended: %v: %s", err, tail(string(stderr)))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func tail(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}
