package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	"github.com/rollmill/rollmill/stages/rollout/agents/command"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestMain is also the program that the agents under test run.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "agent" {
		os.Exit(program(os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == "worker" {
		os.Exit(worker(os.Args[2]))
	}
	os.Exit(m.Run())
}

// program asks the model about its input and then does what mode says.
func program(mode string) int {
	var in struct {
		ID, Question string
		Fields       map[string]any
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	body, _ := json.Marshal(map[string]any{"model": os.Getenv("OPENAI_MODEL"), "messages": []any{map[string]any{"role": "user", "content": in.Question}}})
	req, _ := http.NewRequest("POST", os.Getenv("OPENAI_BASE_URL")+"/chat/completions", bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 8
	}
	io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != 200 {
		fmt.Fprintln(os.Stderr, "the model answered", resp.StatusCode)
		return 7
	}
	switch mode {
	case "metadata":
		dir, _ := os.Getwd()
		fmt.Printf(`{"metadata":{"dir":%q,"id":%q,"base":%q,"seed":%q,"extra":%q,"key":%q},"stop":"turns"}`, dir, in.ID, os.Getenv("OPENAI_API_BASE"),
			os.Getenv("ROLLMILL_SEED"), os.Getenv("EXTRA"), os.Getenv("ROLLMILL_API_KEY")+os.Getenv("OPENAI_API_KEY"))
	case "chatter":
		fmt.Println("the answer is 42")
	case "loads":
		fmt.Print("loading\n{\"answer\":\"5\",\"reward\":0.5}\n")
	case "cut off":
		fmt.Print("loading\n{\"answer\":\"5\",\"rew")
	case "nonsense":
		fmt.Print(`{"metadata":`)
	case "stop":
		fmt.Print(`{"stop":"whenever"}`)
	case "listed answer":
		fmt.Print(`{"answer":["5"]}`)
	case "worded reward":
		fmt.Print(`{"reward":"good"}`)
	case "endless reward":
		fmt.Print(`{"reward":1e999}`)
	case "flood":
		line := bytes.Repeat([]byte("x"), 1<<16)
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return 1
			}
		}
	case "errors":
		for i := range 100000 {
			fmt.Fprintln(os.Stderr, "line", i)
		}
		return 3
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("sleep", "600")
		child.Start()
		os.WriteFile(os.Getenv("EXTRA"), []byte(strconv.Itoa(child.Process.Pid)), 0o600)
		time.Sleep(time.Hour) // select {} may be found to be a deadlock
	case "orphan":
		child := exec.Command("sleep", "600")
		child.Stdout = os.Stdout
		child.Start()
		os.WriteFile(os.Getenv("EXTRA"), []byte(strconv.Itoa(child.Process.Pid)), 0o600)
	}
	return 0
}

func made(t *testing.T, s command.Settings) agents.Agent {
	t.Helper()
	a, err := s.Agent(t.Context(), agents.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newAgent(t *testing.T, mode string, env ...string) agents.Agent {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return made(t, command.Settings{Command: []string{self, "agent", mode}, ProgramSettings: agents.ProgramSettings{Env: env, Grace: 100 * time.Millisecond}})
}

func TestContract(t *testing.T) {
	agenttest.Run(t, command.Kind, func(t *testing.T) agents.Agent { return newAgent(t, "") })
}

func TestProgramInput(t *testing.T) {
	t.Setenv("ROLLMILL_API_KEY", "secret")
	t.Setenv("OPENAI_API_KEY", "secret")
	r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	result, rec, err := agenttest.Attempt(context.Background(), r, newAgent(t, "metadata", "EXTRA=more"), 5)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]string
	if err := json.Unmarshal(result.Metadata, &m); err != nil || result.Stop != outcomes.StopTurns {
		t.Fatalf("%+v %v", result, err)
	}
	if m["id"] != "ex-5" || m["seed"] != "5" || m["extra"] != "more" || m["key"] != "rollmill" || !strings.HasPrefix(m["base"], "http://127.0.0.1:") {
		t.Errorf("%v", m)
	}
	if rec.Messages[0].Content != "what is 5?" {
		t.Errorf("%+v", rec.Messages)
	}
}

// TestFolderAndEnvironment are the program's, of a process and of a worker.
func TestFolderAndEnvironment(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	for words, workers := range map[string]int{"agent metadata": 0, "worker folder": 1} {
		a := made(t, command.Settings{Command: append([]string{self}, strings.Fields(words)...), Workers: workers,
			ProgramSettings: agents.ProgramSettings{Dir: dir, Env: []string{"EXTRA=more"}}})
		result, _, err := agenttest.Attempt(context.Background(), r, a, 1)
		var m map[string]string
		if json.Unmarshal(result.Metadata, &m); err != nil || m["dir"] != dir || m["extra"] != "more" {
			t.Errorf("%s: %v, %v, want folder %s", words, err, m, dir)
		}
		a.Close()
	}
}

func TestHowProgramsFail(t *testing.T) {
	r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	for _, c := range []struct{ mode, class, says string }{
		{"nonsense", outcomes.FailAgentOutput, "unexpected end"},
		{"cut off", outcomes.FailAgentOutput, "unexpected end"},
		{"stop", outcomes.FailAgentOutput, `"whenever"`},
		{"listed answer", outcomes.FailAgentOutput, `["5"] is not a string`},
		{"worded reward", outcomes.FailAgentOutput, `"good" is not a number`},
		{"endless reward", outcomes.FailAgentOutput, `1e999 is not a number`},
		{"flood", outcomes.FailAgentOutput, "more than"},
		{"errors", outcomes.FailAgentExit, "line 99999"},
	} {
		_, _, err := agenttest.Attempt(context.Background(), r, newAgent(t, c.mode), 1)
		var f *agents.Failure
		if !errors.As(err, &f) || f.Class != c.class || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.mode, err)
		}
		if err != nil && len(err.Error()) > 8<<10 {
			t.Errorf("%s: the error has %d bytes", c.mode, len(err.Error()))
		}
	}
	if _, _, err := agenttest.Attempt(context.Background(), r, newAgent(t, "chatter"), 1); err != nil {
		t.Errorf("a program that prints its answer: %v", err)
	}
	got, _, err := agenttest.Attempt(context.Background(), r, newAgent(t, "loads"), 1)
	if err != nil || got.Answer == nil || *got.Answer != "5" || got.Reward == nil || *got.Reward != 0.5 {
		t.Errorf("a result after other text: %+v, %v", got, err)
	}
}

// TestNothingIsLeftRunning: children end with the program, even those of one
// that ignores SIGTERM, and those that it left behind.
func TestNothingIsLeftRunning(t *testing.T) {
	for _, mode := range []string{"stubborn", "orphan"} {
		pidFile := filepath.Join(t.TempDir(), "pid")
		r := agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			_, _, err := agenttest.Attempt(ctx, r, newAgent(t, mode, "EXTRA="+pidFile), 1)
			ended <- err
		}()
		child := waitForPid(t, pidFile)
		if mode == "stubborn" {
			cancel()
		}
		if err := <-ended; (err != nil) != (mode == "stubborn") {
			t.Errorf("%s: %v", mode, err)
		}
		cancel()
		waitGone(t, child)
	}
}

func waitForPid(t *testing.T, file string) int {
	t.Helper()
	for range 3000 {
		if data, err := os.ReadFile(file); err == nil && len(data) > 0 {
			pid, err := strconv.Atoi(string(data))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the program did not start its child")
	return 0
}

// waitGone waits until a process has ended; one that nobody has reaped counts.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for range 3000 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still running", pid)
}

func TestFilesAreDigested(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"agent.py": "print()", "prompt.txt": "be brief"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := made(t, command.Settings{Command: []string{"sh", "agent.py", "--prompt", "prompt.txt", "."}, ProgramSettings: agents.ProgramSettings{Dir: dir}})
	files := a.Describe().Files
	if len(files) != 3 || files["agent.py"] == "" || files["prompt.txt"] == "" || files["sh"] == "" {
		t.Errorf("%v", files)
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	for what, s := range map[string]command.Settings{
		"needs a program":                   {},
		"both name a program":               {Command: []string{"sh"}, Arguments: agents.Arguments{Words: []string{"sh"}}},
		"not found on the PATH":             {Command: []string{"no-such-program-anywhere"}},
		"no such file":                      {Command: []string{"./no-such-program"}},
		"is not a file":                     {Command: []string{"/"}},
		"folder \"nowhere\" does not exist": {Command: []string{"sh"}, ProgramSettings: agents.ProgramSettings{Dir: "nowhere"}},
		`"NOWHERE" is not set`:              {Command: []string{"sh"}, ProgramSettings: agents.ProgramSettings{Env: []string{"NOWHERE"}}},
	} {
		_, err := s.Agent(t.Context(), agents.Setup{})
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.Usage || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
