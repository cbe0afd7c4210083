package command_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	"github.com/rollmill/rollmill/stages/rollout/agents/command"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// worker asks the model about each line of its input.
func worker(mode string) int {
	lines := bufio.NewScanner(os.Stdin)
	for n := 0; lines.Scan(); n++ {
		var task agents.Task
		if err := json.Unmarshal(lines.Bytes(), &task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 9
		}
		body, _ := json.Marshal(map[string]any{"model": task.Model, "messages": []any{map[string]any{"role": "user", "content": task.Question}}})
		req, _ := http.NewRequest("POST", task.BaseURL+"/chat/completions", bytes.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+task.APIKey)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Printf("{\"trajectory_id\":%q,\"error\":%q}\n", task.TrajectoryID, err.Error())
			continue
		}
		io.Copy(io.Discard, resp.Body)
		fmt.Fprintln(os.Stderr, "asked about", task.ID)
		fmt.Println("chatter that is no answer")
		switch {
		case resp.StatusCode != 200:
			fmt.Printf("{\"trajectory_id\":%q,\"error\":\"the model answered %d\"}\n", task.TrajectoryID, resp.StatusCode)
		case mode == "dies" && n == 1:
			fmt.Fprintln(os.Stderr, "out of memory")
			return 3
		case mode == "folder":
			dir, _ := os.Getwd()
			fmt.Printf("{\"trajectory_id\":%q,\"metadata\":{\"dir\":%q,\"extra\":%q}}\n", task.TrajectoryID, dir, os.Getenv("EXTRA"))
		case mode == "floods":
			fmt.Println("{" + strings.Repeat("x", 2<<20))
		case mode == "logs" && n == 1:
			fmt.Println(`{"level":"info","msg":"thinking"}`)
			fmt.Printf("{\"trajectory_id\":%q,\"metadata\":{\"n\":%d}}\n", task.TrajectoryID, n)
		case mode == "echoes nothing":
			fmt.Printf("{\"metadata\":{\"n\":%d}}\n", n)
		case mode == "mistakes":
			fmt.Println(`{"trajectory_id":"another"}`)
		case mode == "says more":
			answer := fmt.Sprintf("{\"trajectory_id\":%q,\"metadata\":{\"pid\":%d,\"n\":%d}}\n", task.TrajectoryID, os.Getpid(), n)
			fmt.Print(answer, answer, `{"level":"info","msg":"that was it"}`, "\n")
		default:
			fmt.Printf("{\"trajectory_id\":%q,\"metadata\":{\"pid\":%d,\"n\":%d}}\n", task.TrajectoryID, os.Getpid(), n)
		}
	}
	return 0
}

func newPool(t *testing.T, mode string, workers int) agents.Agent {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := made(t, command.Settings{Command: []string{self, "worker", mode}, Workers: workers,
		ProgramSettings: agents.ProgramSettings{Grace: 100 * time.Millisecond, Logs: t.TempDir()}})
	t.Cleanup(func() { a.Close() })
	return a
}

func TestPoolContract(t *testing.T) {
	agenttest.Run(t, command.Kind, func(t *testing.T) agents.Agent { return newPool(t, "", 3) })
}

// TestWorkersLiveOn: one process makes all attempts, and one that died is
// replaced.
func TestWorkersLiveOn(t *testing.T) {
	r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	for mode, want := range map[string][]string{"": {"0", "1", "2"}, "dies": {"0", "out of memory", "0"}} {
		a := newPool(t, mode, 1)
		pids := map[float64]bool{}
		for i, says := range want {
			result, rec, err := agenttest.Attempt(context.Background(), r, a, i)
			if len(rec.Calls) != 1 {
				t.Errorf("%s %d: %d calls", mode, i, len(rec.Calls))
			}
			var f *agents.Failure
			if err != nil {
				if !errors.As(err, &f) || f.Class != outcomes.FailAgentExit || !strings.Contains(err.Error(), says) ||
					!strings.Contains(err.Error(), "exit status 3") {
					t.Errorf("%s %d: %v", mode, i, err)
				}
				continue
			}
			var m map[string]float64
			json.Unmarshal(result.Metadata, &m)
			pids[m["pid"]] = true
			if fmt.Sprint(m["n"]) != says {
				t.Errorf("%s: attempt %d is the worker's %v, want %s", mode, i, m["n"], says)
			}
		}
		if alive := 1 + strings.Count(mode, "dies"); len(pids) != alive {
			t.Errorf("%s: %d processes", mode, len(pids))
		}
	}
}

// TestLogLinesAreNotAnswers: a line that echoes no trajectory or another one fails
// the trajectory that was asked about, by name, and no other gets its answer.
func TestLogLinesAreNotAnswers(t *testing.T) {
	r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	for mode, want := range map[string]struct {
		fails []bool
		says  string
	}{
		"logs":           {[]bool{false, true, false}, `"thinking"`},
		"echoes nothing": {[]bool{true, true}, `without "trajectory_id"`},
		"mistakes":       {[]bool{true, true}, `answered about "another"`},
	} {
		a := newPool(t, mode, 1)
		for i, fails := range want.fails {
			result, _, err := agenttest.Attempt(context.Background(), r, a, i)
			var f *agents.Failure
			switch {
			case fails && (!errors.As(err, &f) || f.Class != outcomes.FailAgentOutput || !strings.Contains(err.Error(), want.says)):
				t.Errorf("%s, attempt %d: %v", mode, i, err)
			case !fails && (err != nil || !strings.Contains(string(result.Metadata), `"n":0`)):
				t.Errorf("%s, attempt %d: %v, metadata %s", mode, i, err, result.Metadata)
			}
		}
	}
}

// TestLateWorkerOutputIsDropped: a second answer and a log line that come
// between two attempts are neither the next one's answer nor its failure.
func TestLateWorkerOutputIsDropped(t *testing.T) {
	r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	a := newPool(t, "says more", 1)
	for i := range 4 {
		result, _, err := agenttest.Attempt(context.Background(), r, a, i)
		if want := fmt.Sprintf(`"n":%d`, i); err != nil || !strings.Contains(string(result.Metadata), want) {
			t.Errorf("attempt %d: %v, metadata %s, want %s", i, err, result.Metadata, want)
		}
		time.Sleep(20 * time.Millisecond) // for the line after the answer
	}
}

func TestFloodingWorkerIsEnded(t *testing.T) {
	r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	_, _, err := agenttest.Attempt(context.Background(), r, newPool(t, "floods", 1), 1)
	var f *agents.Failure
	if !errors.As(err, &f) || f.Class != outcomes.FailAgentOutput {
		t.Errorf("%v", err)
	}
}

// TestStandardErrorIsKept: each trajectory's own, of processes and workers,
// whether it went well or not.
func TestStandardErrorIsKept(t *testing.T) {
	self, _ := os.Executable()
	logs := filepath.Join(t.TempDir(), "logs")
	for words, settings := range map[string]command.Settings{
		"asked about ex-2": {Command: []string{self, "worker", ""}, Workers: 1},
		"line 99999":       {Command: []string{self, "agent", "errors"}},
	} {
		settings.Logs = logs
		a := made(t, settings)
		r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
		for i := range 3 {
			agenttest.Attempt(context.Background(), r, a, i)
		}
		a.Close()
		text, err := os.ReadFile(filepath.Join(logs, formats.TrajectoryID("run", "ex-2", 0, 0)+".stderr"))
		if err != nil || !strings.Contains(string(text), words) || strings.Contains(string(text), "ex-1") {
			t.Errorf("%v: %d bytes: %.200s", err, len(text), text)
		}
	}
}
