package harbor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/workspace"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/internal/containers"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/storagetest"
)

const testImage = "localhost/rollmill-test:base"

// TestMain is the relay in a container, and the process that a test kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == RelayCommand {
		os.Exit(Relay(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == workspace.Command {
		os.Exit(workspace.Main(os.Args[2:]))
	}
	os.Setenv("CONTAINERS_CONF", root("containers.conf"))
	os.Setenv("BUILDAH_ISOLATION", "chroot")
	os.Exit(m.Run())
}

// root returns a path below testdata/harbor.
func root(names ...string) string {
	at, _ := filepath.Abs(filepath.Join(append([]string{"../../../../testdata/harbor"}, names...)...))
	return at
}

var long = flag.Bool("long", false, "run the tests that start containers for minutes")

// manyContainers skips a test that starts many, without -long and where none can run.
func manyContainers(t *testing.T) {
	t.Helper()
	if !*long {
		t.Skip("it starts containers; -long runs it")
	}
	podman(t)
}

// podman skips a test where no container can run.
func podman(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("podman", "image", "inspect", testImage).CombinedOutput(); err != nil {
		t.Skipf(".ci/install containers brings podman, and .ci/base-image makes the tests' image: %v %s", err, out)
	}
}

// made makes an agent.
func made(t *testing.T, change func(*Settings)) agents.Agent {
	t.Helper()
	s := Kind.New().(*Settings)
	if change != nil {
		change(s)
	}
	a, err := s.Agent(t.Context(), agents.Setup{Client: openai.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func in(command string) func(*Settings) { return func(s *Settings) { s.Harness = command } }

// ask is a harness that makes one call.
const ask = `wget -qO- --header 'content-type: application/json' --post-data ` +
	`"{\"model\": \"$OPENAI_MODEL\", \"messages\": [{\"role\": \"user\", \"content\": \"$ROLLMILL_GENERATION\"}]}" ` +
	`$OPENAI_BASE_URL/chat/completions`

// example lets an agent list a task folder, and returns its example.
func example(t testing.TB, a agents.Agent, folder string) formats.Example {
	t.Helper()
	var line bytes.Buffer
	if err := a.(*agent).List(t.Context(), folder, &line, func(text string) { t.Error(text) }); err != nil {
		t.Fatal(err)
	}
	var f harbor.Fields
	if err := json.Unmarshal(line.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	return formats.Example{ID: f.ID, Question: f.Question, Fields: bytes.TrimSpace(line.Bytes())}
}

func TestConforms(t *testing.T) {
	manyContainers(t)
	for name, change := range map[string]func(*Settings){"shell": nil, "inside": in(ask)} {
		t.Run(name, func(t *testing.T) {
			e := example(t, made(t, nil), root("tasks", "write-file"))
			agenttest.RunOn(t, Kind, func(t *testing.T) agents.Agent {
				a := made(t, change)
				example(t, a, root("tasks", "write-file"))
				return a
			}, func(i int) formats.Example {
				e.ID, e.Row = fmt.Sprint("ex-", i), i
				return e
			})
		})
	}
}

// attempt makes one attempt at the task of a folder, with an engine that says what script says.
func attempt(t *testing.T, a agents.Agent, folder string, script func(recordertest.Request) recordertest.Reply) (
	agents.Result, recorder.Record, error) {
	t.Helper()
	engine := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: script}
	return agenttest.AttemptAt(t.Context(), agenttest.Recorder(t, engine), a, example(t, a, folder))
}

// says is a model that gives one command after the other to its shell.
func says(commands ...string) func(recordertest.Request) recordertest.Reply {
	return func(q recordertest.Request) recordertest.Reply {
		done := 0
		for _, m := range q.Messages {
			if m.Role == "tool" {
				done++
			}
		}
		if done == len(commands) {
			return recordertest.Reply{Content: "It is done."}
		}
		arguments, _ := json.Marshal(map[string]string{"command": commands[done]})
		return recordertest.Reply{ToolCalls: []formats.ToolCall{{ID: fmt.Sprint("call-", done), Name: "shell", Arguments: string(arguments)}}}
	}
}

// TestBwrap solves a task without an image.
func TestBwrap(t *testing.T) {
	if out, err := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true").CombinedOutput(); err != nil {
		t.Skipf("no bubblewrap: %v %s", err, out)
	}
	dir := filepath.Join(t.TempDir(), "task")
	if err := os.CopyFS(dir, os.DirFS(root("tasks", "write-file"))); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(filepath.Join(dir, "environment"))
	for name, harness := range map[string]string{"shell": Shell, "inside": `python3 -c 'import json, os, urllib.request as u; ` +
		`u.urlopen(u.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps({"model": os.environ["OPENAI_MODEL"], ` +
		`"messages": [{"role": "user", "content": "hello"}]}).encode(), {"content-type": "application/json"})).read()'; echo hello > hello.txt`} {
		t.Run(name, func(t *testing.T) {
			a := made(t, func(s *Settings) { s.Runtime, s.Harness = "bwrap", harness })
			result, rec, err := attempt(t, a, dir, says("ls /tests; echo hello > hello.txt; touch /usr/bin/changed", "cat hello.txt"))
			if err != nil || *result.Reward != 1 {
				t.Fatalf("%v: %+v", err, result)
			}
			if said := rec.Messages[len(rec.Messages)-2].Content; name == "shell" && said != "hello\n" {
				t.Errorf("it read %q", said)
			}
		})
	}
	if _, err := os.Stat("/usr/bin/changed"); err == nil {
		t.Error("the agent changed this machine")
	}
}

// class returns the class of an attempt's failure.
func class(err error) string {
	var f *agents.Failure
	if errors.As(err, &f) {
		return f.Class
	}
	return fmt.Sprint(err)
}

// TestTasks solves each task by its solution and by nothing, with the model's shell; the
// first one alone without -long.
func TestTasks(t *testing.T) {
	podman(t)
	a := made(t, nil)
	for _, c := range []struct {
		task           string
		solved, undone map[string]float64
	}{
		{"write-file", map[string]float64{"reward": 1, "tampered": 0}, map[string]float64{"reward": 0, "tampered": 0}},
		{"fix-test", map[string]float64{"reward": 1, "others": 1, "tampered": 0}, map[string]float64{"reward": 0, "others": 0.75, "tampered": 0}},
		{"query-service", map[string]float64{"reward": 1, "tampered": 0}, map[string]float64{"reward": 0, "tampered": 0}},
	} {
		if c.task != "write-file" && !*long {
			continue
		}
		t.Run(c.task, func(t *testing.T) {
			solution, err := os.ReadFile(root("tasks", c.task, "solution", "solve.sh"))
			if err != nil {
				t.Fatal(err)
			}
			result, rec, err := attempt(t, a, root("tasks", c.task), says("ls /tests /solution; id", string(solution)))
			if err != nil || cmp.Diff(c.solved, result.Rewards) != "" || *result.Reward != 1 {
				t.Errorf("solved: %v: %v", err, result.Rewards)
			}
			if n := len(rec.Calls); n != 3 {
				t.Errorf("%d calls", n)
			}
			if said := rec.Messages[3].Content; !strings.Contains(said, "No such file") || !strings.Contains(said, "uid=0") {
				t.Errorf("the agent's look around: %s", said)
			}
			result, _, err = attempt(t, a, root("tasks", c.task), says())
			if err != nil || cmp.Diff(c.undone, result.Rewards) != "" || *result.Reward != 0 {
				t.Errorf("undone: %v: %v", err, result.Rewards)
			}
		})
	}
}

// TestNetwork looks, from a container without a network, for what it may not reach.
func TestNetwork(t *testing.T) {
	manyContainers(t)
	engine := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true}
	r := agenttest.Recorder(t, engine)
	other := r.Begin(t.Context(), "other", "group")
	defer other.End()
	harness := `test "${no_proxy%%,*}" = 127.0.0.1 && ` + ask + ` && cd /app && ! wget -T 2 -qO- ` + engine.URL() + `/models && ! wget -T 2 -qO- http://1.1.1.1 ` +
		`&& ! wget -T 2 -qO- ` + other.BaseURL() + `/models ` +
		`&& ! wget -qO- ${OPENAI_BASE_URL%/v1}` + other.BaseURL()[strings.Index(other.BaseURL(), "/t/"):] + `/models ` +
		`&& ! wget -qO- ${OPENAI_BASE_URL%/v1}/../../other/v1/models && echo hello > hello.txt`
	a := made(t, in(harness))
	result, rec, err := agenttest.AttemptAt(t.Context(), r, a, example(t, a, root("tasks", "write-file")))
	if err != nil || result.Reward == nil || *result.Reward != 1 {
		t.Errorf("%v: %+v", err, result)
	}
	if len(rec.Calls) != 1 || len(other.End().Calls) != 0 {
		t.Errorf("%d calls of this attempt, and some of another", len(rec.Calls))
	}
}

// TestFailures: each class by what causes it.
func TestFailures(t *testing.T) {
	manyContainers(t)
	for name, c := range map[string]struct {
		harness, class, says string
		change               map[string]string // text of a file, by name
	}{
		"exit":       {harness: ask + "; echo broken >&2; exit 3", class: outcomes.FailAgentExit, says: "exit code 3: "},
		"no program": {harness: "nothing-like-this", class: outcomes.FailAgentExit, says: "exit code 127"},
		"memory":     {harness: ask + "; tail /dev/zero", class: outcomes.FailLimit, says: "256 MB"},
		"processes": {harness: ask + "; busybox ash -c 'while :; do sleep 60 & done'", class: outcomes.FailAgentExit,
			says: "can't fork", change: map[string]string{"task.toml": "[environment]\nmemory_mb = 2048\n"}},
		"time": {harness: ask + "; sleep 600", class: outcomes.FailTimeout, says: "longer than the task's 3s",
			change: map[string]string{"task.toml": "[agent]\ntimeout_sec = 3\n"}},
		"image": {harness: ask, class: outcomes.FailImage, says: "no-such-program",
			change: map[string]string{"environment/Dockerfile": "FROM " + testImage + "\nRUN no-such-program\n"}},
		"image time": {harness: ask, class: outcomes.FailImage, says: "time limit",
			change: map[string]string{"environment/Dockerfile": "FROM " + testImage + "\nRUN sleep 600\n", "task.toml": "[environment]\nbuild_timeout_sec = 2\n"}},
		"start": {harness: ask, class: outcomes.FailStart, says: "no-such-start",
			change: map[string]string{"environment/Dockerfile": "FROM " + testImage + "\nENTRYPOINT [\"/no-such-start\"]\n"}},
		"no reward": {harness: ask, class: outcomes.FailVerifier, says: "neither reward.json nor reward.txt: judged",
			change: map[string]string{"tests/test.sh": "#!/bin/bash\necho judged\n"}},
		"left behind": {harness: ask + "; echo 1 > /logs/verifier/reward.txt", class: outcomes.FailVerifier, says: "neither",
			change: map[string]string{"tests/test.sh": "#!/bin/bash\n"}},
		"endless": {harness: ask, class: outcomes.FailVerifier, says: "time limit",
			change: map[string]string{"tests/test.sh": "#!/bin/bash\nsleep 600\n", "task.toml": "[verifier]\ntimeout_sec = 2\n"}},
		"not a number": {harness: ask, class: outcomes.FailVerifier, says: "not a finite number", change: map[string]string{
			"tests/test.sh": "#!/bin/bash\necho nan > /logs/verifier/reward.txt\n"}},
		"infinite": {harness: ask, class: outcomes.FailVerifier, says: "1e999", change: map[string]string{
			"tests/test.sh": "#!/bin/bash\necho '{\"reward\": 1e999}' > /logs/verifier/reward.json\n"}},
		"list": {harness: ask, class: outcomes.FailVerifier, says: "object of numbers", change: map[string]string{
			"tests/test.sh": "#!/bin/bash\necho '[1]' > /logs/verifier/reward.json\n"}},
		"large": {harness: ask, class: outcomes.FailVerifier, says: "more than 65536 bytes", change: map[string]string{
			"tests/test.sh": "#!/bin/bash\nhead -c 100000000 /dev/zero > /logs/verifier/reward.txt\n"}},
		"link": {harness: ask + "; ln -s /etc/hostname /logs/verifier/reward.json", class: outcomes.FailVerifier, says: "not a regular file", change: map[string]string{
			"tests/test.sh": "#!/bin/bash\nln -sf ../../../../../../../etc/hostname /logs/verifier/reward.json\n"}},
		"pipe": {harness: ask, class: outcomes.FailVerifier, says: "not a regular file", change: map[string]string{
			"tests/test.sh": "#!/bin/bash\nmkfifo /logs/verifier/reward.txt\n"}},
		"edited tests": {harness: ask + "; (while :; do echo 'echo 1 > /logs/verifier/reward.txt' >> /tests/test.sh; sleep 0.1; done) >/dev/null 2>&1 &",
			class: outcomes.FailVerifier, says: "left processes running (sh",
			change: map[string]string{"tests/test.sh": "#!/bin/bash\nsleep 1\necho 0 > /logs/verifier/reward.txt\n"}},
		"own tests": {harness: ask + `; mv /bin/rm /bin/kept; printf '#!/bin/sh\nexit 0\n' > /bin/rm; chmod +x /bin/rm; ` +
			`mkdir /tests; echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh`, class: outcomes.FailVerifier, says: "tests changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "task")
			if err := os.CopyFS(dir, os.DirFS(root("tasks", "write-file"))); err != nil {
				t.Fatal(err)
			}
			for file, text := range c.change {
				storagetest.Program(t, filepath.Join(dir, file), text)
			}
			result, _, err := attempt(t, made(t, in(c.harness)), dir, nil)
			if class(err) != c.class || !strings.Contains(err.Error(), c.says) {
				t.Errorf("class %s, not %s: %v; %+v", class(err), c.class, err, result)
			}
			t.Log(err)
		})
	}
}

// TestOutput has COUNT MB written by everything that may write.
func TestOutput(t *testing.T) {
	manyContainers(t)
	count := "100"
	if n := os.Getenv("COUNT"); n != "" {
		count = n
	}
	flood := "head -c " + count + "000000 /dev/zero"
	dir := filepath.Join(t.TempDir(), "task")
	if err := os.CopyFS(dir, os.DirFS(root("tasks", "write-file"))); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "task.toml"))
	if err == nil { // however long it takes
		err = os.WriteFile(filepath.Join(dir, "task.toml"), bytes.ReplaceAll(file, []byte("timeout_sec = 60.0"), []byte("timeout_sec = 3600.0")), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/bash\n" + flood + "; " + flood + " >&2; echo 1 > /logs/verifier/reward.txt\n"
	storagetest.Program(t, filepath.Join(dir, "tests", "test.sh"), script)
	for name, change := range map[string]func(*Settings){"shell": nil, "inside": in(ask + "; " + flood)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		result, _, err := attempt(t, made(t, func(s *Settings) {
			if s.Logs = t.TempDir(); change != nil {
				change(s)
			}
		}), dir, says(flood))
		runtime.ReadMemStats(&after)
		if err != nil || *result.Reward != 1 {
			t.Errorf("%s: %v", name, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
			t.Errorf("%s: %d bytes were allocated", name, grown)
		}
	}
}

// TestManyAtOnce makes MANY attempts at once, each of which sleeps between two calls.
func TestManyAtOnce(t *testing.T) {
	manyContainers(t)
	n := 8
	if many, err := strconv.Atoi(os.Getenv("MANY")); err == nil {
		n = many
	}
	a, r := made(t, in(ask+" && sleep 10 && "+ask)), agenttest.Recorder(t, &recordertest.Engine{Source: schema.TokensChoice})
	e := example(t, a, root("tasks", "write-file"))
	ended, began := make(chan string, n), time.Now()
	for i := range n {
		go func() {
			e := e
			e.ID, e.Row = fmt.Sprint("ex-", i), i
			_, rec, err := agenttest.AttemptAt(t.Context(), r, a, e)
			ended <- fmt.Sprintf("%v, %d calls", err, len(rec.Calls))
		}()
	}
	for range n {
		if end := <-ended; end != "<nil>, 2 calls" {
			t.Error(end)
		}
	}
	t.Logf("%d attempts that sleep 10 s: %s", n, time.Since(began).Round(time.Second))
}

// TestSweep kills a process in the middle of an attempt.
func TestSweep(t *testing.T) {
	manyContainers(t)
	if os.Getenv("ROLLMILL_TEST_CHILD") != "" {
		_, _, err := attempt(t, made(t, in(ask+"; sleep 600")), root("tasks", "write-file"), nil)
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestSweep$", "-long")
	temporary := t.TempDir()
	child.Env = append(os.Environ(), "ROLLMILL_TEST_CHILD=1", "TMPDIR="+temporary)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pm := made(t, nil).(*agent)
	of := func() (names []string) {
		all, err := pm.Labelled(t.Context(), containers.OwnerLabel)
		if err != nil {
			t.Fatal(err)
		}
		for name, owner := range all {
			if strings.Contains(owner, url.QueryEscape(temporary)) {
				names = append(names, name)
			}
		}
		return names
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	var left []string
	for ; len(left) == 0; left = of() {
		select {
		case err := <-ended:
			t.Fatalf("the child started no container: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	child.Process.Kill()
	<-ended
	made(t, nil)
	all, err := pm.Labelled(context.Background(), containers.OwnerLabel)
	for _, name := range left {
		if _, there := all[name]; there || err != nil {
			t.Errorf("container %s is still there: %v", name, err)
		}
	}
}
