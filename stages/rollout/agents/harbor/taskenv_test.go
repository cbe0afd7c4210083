package harbor

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/storagetest"
)

// bubblewrap skips a test where it makes no namespace.
func bubblewrap(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true").CombinedOutput(); err != nil {
		t.Skipf("no bubblewrap: %v %s", err, out)
	}
}

// changed copies the task write-file with other files; that of bwrap has no image.
func changed(t *testing.T, runtime string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "task")
	if err := os.CopyFS(dir, os.DirFS(root("tasks", "write-file"))); err != nil {
		t.Fatal(err)
	}
	if runtime == "bwrap" {
		os.RemoveAll(filepath.Join(dir, "environment"))
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		storagetest.Program(t, filepath.Join(dir, name), text)
	}
	return dir
}

// on makes an agent of a runtime.
func on(t *testing.T, runtime string, change func(*Settings)) agents.Agent {
	t.Helper()
	return made(t, func(s *Settings) {
		if s.Runtime = runtime; change != nil {
			change(s)
		}
	})
}

// watched puts before a program in PATH one that writes down the words and variables that
// it gets on this machine, and returns where.
func watched(t *testing.T, program string) string {
	t.Helper()
	real, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n{ tr '\\0' '\\n' </proc/$$/environ; printf '%%s\\n' \"$@\"; } >>%s/seen\nexec %s \"$@\"\n", dir, real)
	storagetest.Program(t, filepath.Join(dir, program), script)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return filepath.Join(dir, "seen")
}

func TestVariables(t *testing.T)        { manyContainers(t); variables(t, "podman", "podman") }
func TestVariablesCommand(t *testing.T) { manyContainers(t); variables(t, "command: podman", "podman") }
func TestBwrapVariables(t *testing.T)   { bubblewrap(t); variables(t, "bwrap", "bwrap") }

// variables: a task's variables are in the container as they are written, and neither in
// the environment nor in the words of a program of this machine; nor are the harness's.
func variables(t *testing.T, runtime, program string) {
	t.Setenv("PLAIN_OF_OPERATOR", "canary-plain")
	t.Setenv("http_proxy", "http://127.0.0.1:9")
	proxy := map[string]string{"podman": "http://127.0.0.1:9"}[program] // Podman's own doing
	task := changed(t, runtime, map[string]string{
		"task.toml": `[environment]
network_mode = "no-network"
env = {LD_PRELOAD = "/none/canary-preload.so", BASH_ENV = "/canary-bash", FIRST = " 'canary' \"$HOME\" #\\ é "}
[agent]
env = {SECOND = "canary-second"}
[solution]
env = {THIRD = "canary-third", SECOND = "other"}
[verifier]
env = {FOURTH = "canary-fourth", PYTHONPATH = "/canary-python"}
`,
		"solution/solve.sh": "#!/bin/sh\n[ $THIRD = canary-third ] && cat /app/none 2>/dev/null || printf '%s|%s' \"$FIRST\" \"$PLAIN_OF_OPERATOR\" > first\n",
		"tests/test.sh": "#!/bin/sh\n[ \"$(cat first)\" = \" 'canary' \\\"\\$HOME\\\" #\\\\ é |\" ] && [ $FOURTH = canary-fourth ] && [ -z \"$SECOND$THIRD\" ] && " +
			"[ \"$http_proxy\" = \"" + proxy + "\" ] && [ $LD_PRELOAD = /none/canary-preload.so ] && [ $PYTHONPATH = /canary-python ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n",
	})
	seen := watched(t, program)
	harness := `[ $SECOND = canary-second ] && [ $KEY = canary-key ] && printf '%s|%s' "$FIRST" "$PLAIN_OF_OPERATOR" > first`
	for name, make := range map[string]func() (agents.Result, error){
		"harness": func() (agents.Result, error) {
			a := on(t, runtime, func(s *Settings) { s.Harness, s.Env = harness, []string{"KEY=canary-key"} })
			result, _, err := attempt(t, a, task, nil)
			return result, err
		},
		"solution": func() (agents.Result, error) {
			a := on(t, runtime, nil)
			return a.(*agent).Solve(t.Context(), example(t, a, task))
		},
	} {
		if result, err := make(); err != nil || *result.Reward != 1 {
			t.Errorf("%s: %v %+v", name, err, result)
		}
	}
	text, err := os.ReadFile(seen)
	for line := range strings.Lines(strings.ReplaceAll(string(text), harness, "")) {
		if strings.Contains(line, "canary") && !strings.HasPrefix(line, "PLAIN_OF_OPERATOR=") || strings.HasPrefix(line, "LD_PRELOAD") {
			t.Errorf("a program of this machine got %s", line)
		}
	}
	if err != nil || len(text) == 0 {
		t.Error(err, "no program was seen")
	}
}

// TestTaskEnv: tasks read what --task-env lists; a rollout of tasks that ask for more does
// not begin, and names all of it.
func TestTaskEnv(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary-of-the-operator")
	t.Setenv("HARMLESS", "canary-harmless")
	task := changed(t, "bwrap", map[string]string{"task.toml": `[environment]
env = {STOLEN = "${OPENAI_API_KEY}", PART = "x${OPENAI_API_KEY}"}
[agent]
env = {B = "${HARMLESS}"}
[verifier]
env = {C = "${NOT_SET}", D = "${HARMLESS:-own}"}
[solution]
env = {E = "${AWS_SECRET_ACCESS_KEY}"}
`})
	for _, c := range []struct {
		listed  []string
		missing string
	}{
		{nil, "HARMLESS, NOT_SET, OPENAI_API_KEY (tasks: 1)"},
		{[]string{"HARMLESS", "NOT_SET"}, "NOT_SET, OPENAI_API_KEY (tasks: 1)"},
		{[]string{"HARMLESS", "NOT_SET=set", "OPENAI_API_KEY"}, ""},
	} {
		a := made(t, func(s *Settings) { s.Runtime, s.TaskEnv = "command: true", c.listed }).(*agent)
		var warned []string
		err := a.List(t.Context(), task, new(bytes.Buffer), func(text string) { warned = append(warned, text) })
		if c.missing == "" && err != nil || c.missing != "" && (err == nil || !strings.Contains(err.Error(), c.missing) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%v: %v", c.listed, err)
		}
		if (len(warned) == 1) != (c.listed == nil) {
			t.Errorf("%v: %q", c.listed, warned)
		}
		loaded, _ := a.taskOf(formats.Example{Fields: []byte(`{"task_digest": "` + digestOf(t, task) + `"}`)})
		if _, err := a.Variables.Resolve(t.Context(), loaded, "solution"); err == nil || !strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY") {
			t.Errorf("%v: the solution: %v", c.listed, err)
		}
		env, err := a.Variables.Resolve(t.Context(), loaded, "environment")
		if (err == nil) != (c.missing == "") || err == nil && (env[1] != "STOLEN=canary-of-the-operator" || env[0] != "PART=x${OPENAI_API_KEY}") {
			t.Errorf("%v: %v %v", c.listed, env, err)
		}
	}
	first, second := made(t, func(s *Settings) { s.Runtime, s.TaskEnv = "command: true", []string{"A=1"} }).Describe(),
		made(t, func(s *Settings) { s.Runtime, s.TaskEnv = "command: true", []string{"A=2"} }).Describe()
	if fmt.Sprint(first) == fmt.Sprint(second) {
		t.Error("another value is the same dataset")
	}
}

// TestBwrapTaskEnv: the default of a variable that is not listed counts, whatever it is here.
func TestBwrapTaskEnv(t *testing.T) {
	bubblewrap(t)
	t.Setenv("OPENAI_API_KEY", "canary-of-the-operator")
	task := changed(t, "bwrap", map[string]string{
		"task.toml":     "[environment]\nenv = {A = \"${OPENAI_API_KEY:-own}\", B = \"${OPENAI_API_KEY:-}\"}\n",
		"tests/test.sh": "#!/bin/sh\n[ \"$A$B\" = own ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n",
	})
	for listed, want := range map[string]float64{"": 1, "OPENAI_API_KEY": 0} {
		a := on(t, "bwrap", func(s *Settings) { s.TaskEnv = strings.Fields(listed) }).(*agent)
		var line bytes.Buffer
		if err := a.List(t.Context(), task, &line, func(string) {}); err != nil {
			t.Fatal(err)
		}
		result, err := a.Solve(t.Context(), formats.Example{Fields: line.Bytes()})
		if err != nil || *result.Reward != want {
			t.Errorf("listed %q: %v %+v", listed, err, result)
		}
	}
}

func digestOf(t *testing.T, dir string) string {
	t.Helper()
	task, err := harbor.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return task.Digest
}
