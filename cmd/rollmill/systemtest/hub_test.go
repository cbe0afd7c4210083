package systemtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
)

// hubPython returns the Python of .venv-data, which has huggingface_hub and finds our module.
func hubPython(t *testing.T) string {
	t.Helper()
	python, _ := filepath.Abs("../../../.venv-data/bin/python")
	if _, err := os.Stat(python); err != nil {
		t.Skipf(".ci/install data brings it: %v", err)
	}
	source, _ := filepath.Abs("../../python/src")
	t.Setenv("PYTHONPATH", source)
	return python
}

// curatedBatch returns a curated dataset of two groups; texts of its answers are the example's.
func curatedBatch(t *testing.T, question string) string {
	t.Helper()
	url, _ := newEngine(t, "project/name")
	dir := t.TempDir()
	tasks := filepath.Join(dir, "tasks.jsonl")
	if err := os.WriteFile(tasks, []byte(`{"id":"a","question":"`+question+`"}`+"\n"+`{"id":"b","question":"Move."}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"rollout", "--examples", tasks, "--url", url + "/v1", "--model", "project/name", "--run", "r", "--generations", "2", "--sampling-seed", "1"},
		{"score", "--in", "rollout", "--reward", "n=expr:generation"}, {"group", "--in", "score", "--pairs", "best-worst"}, {"curate", "--in", "group"},
	} {
		for i := range args {
			if i > 0 && args[i-1] == "--in" {
				args[i] = filepath.Join(dir, args[i])
			}
		}
		if code, _, stderr := rollmill(t, append(args, "--out", filepath.Join(dir, args[0]))...); code != 0 {
			t.Fatal(stderr)
		}
	}
	return filepath.Join(dir, "curate")
}

const hubRepository = "acme/rollouts"

// pushed is a submission to a test server of the hub.
type pushed struct {
	server  *hubtest.Server
	args    []string
	receipt string
}

func push(t *testing.T, python, curated string, f hubtest.Faults, flags ...string) pushed {
	t.Helper()
	p := pushed{server: hubtest.Serve(f), receipt: filepath.Join(t.TempDir(), "receipt")}
	t.Cleanup(p.server.Close)
	t.Setenv("HF_ENDPOINT", p.server.URL)
	t.Setenv("HF_TOKEN", hubtest.Token)
	t.Setenv("HF_HOME", t.TempDir())
	t.Setenv("HF_HUB_DISABLE_XET", "1")
	p.args = append([]string{"submit", "--in", curated, "--out", p.receipt, "--ledger", filepath.Join(t.TempDir(), "ledger"), "--lease", "1s",
		"--backend", "command", "--trainer-env", "HF_TOKEN", "--trainer", python + " -m rollmill.hub --repo " + hubRepository}, flags...)
	return p
}

// once checks that the batch is in one commit, which the receipt names.
func (p pushed) once(t *testing.T) receipts.Receipt {
	t.Helper()
	ours := slices.DeleteFunc(p.server.Commits(hubRepository), func(title string) bool { return title == "by somebody else" })
	data, err := os.ReadFile(filepath.Join(p.receipt, "_receipt.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r receipts.Receipt
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if len(ours) != 1 || ours[0] != "rollmill: run r, epoch 0" || r.State != receipts.JobCompleted || len(r.Job) != 40 {
		t.Errorf("commits %q, state %q, job %q: %s", ours, r.State, r.Job, r.Message)
	}
	for _, uri := range r.Files {
		path, ok := strings.CutPrefix(uri, "hf://datasets/"+hubRepository+"@"+r.Job+"/")
		if p.server.Files(hubRepository)[path] == "" || !ok {
			t.Errorf("%s: there is no such file", uri)
		}
	}
	return r
}

// TestHub: a batch is pushed by huggingface_hub in one commit, whatever the hub does
// wrong, and datasets and DuckDB read it.
func TestHub(t *testing.T) {
	python := hubPython(t)
	curated := curatedBatch(t, "Your move.")
	for name, f := range map[string]hubtest.Faults{
		"as it should be": {}, "in parts": {ChunkSize: 3000}, "applied, and dropped": {DropAfterCommit: 1}, "applied, but 500": {AppliedThen500: 1},
		"somebody commits meanwhile": {Intruders: 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := push(t, python, curated, f)
			if code, _, stderr := rollmill(t, p.args...); code != 0 {
				t.Fatal(stderr)
			}
			if r := p.once(t); len(r.Files) != 1 || !strings.Contains(r.Files[0], "/data/trajectories/") {
				t.Errorf("%q", r.Files)
			}
		})
	}
	t.Run("forms", func(t *testing.T) {
		p := push(t, python, curated, hubtest.Faults{}, "--form", "sequences", "--form", "trl-preference.parquet")
		if code, _, stderr := rollmill(t, p.args...); code != 0 {
			t.Fatal(stderr)
		}
		p.once(t)
		cmd := exec.Command(python, "../../../testdata/consumers/hub/pushed.py", curated)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s\nthe server was asked:\n%q", err, out, p.server.Log())
		}
	})
}

// TestHubKilledBeforeTheAnswer: the sender and its trainer die when the commit is made and
// nobody knows; the next one attaches to it.
func TestHubKilledBeforeTheAnswer(t *testing.T) {
	python := hubPython(t)
	var cmd *exec.Cmd
	f := hubtest.Faults{DropAfterCommit: 1, Committed: func() { _ = cmd.Process.Kill() }}
	p := push(t, python, curatedBatch(t, "Your move."), f)
	cmd = exec.Command("rollmill", p.args...)
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("it was not killed: %v\n%s", err, out)
	}
	if _, err := os.Stat(p.receipt); err == nil {
		t.Fatal("there is a receipt")
	}
	if code, _, stderr := rollmill(t, p.args...); code != 0 {
		t.Fatal(stderr)
	}
	p.once(t)
}

// TestHubRefuses: keys are not pushed, and old words say the new ones.
func TestHubRefuses(t *testing.T) {
	python := hubPython(t)
	curated := curatedBatch(t, "My key is hf_abcdefghijklmnopqrstuvwxyzABCDEFGH.")
	p := push(t, python, curated, hubtest.Faults{})
	code, _, stderr := rollmill(t, p.args...)
	if code == 0 || !strings.Contains(stderr, "--allow-secrets") || len(p.server.Commits(hubRepository)) != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	p.args[len(p.args)-1] += " --allow-secrets"
	if code, _, stderr := rollmill(t, p.args...); code != 0 {
		t.Fatal(stderr)
	}
	p.once(t)
	code, _, stderr = rollmill(t, "submit", "--in", curated, "--backend", "hub")
	if code != 2 || !strings.Contains(stderr, "--backend command --trainer 'python -m rollmill.hub --repo OWNER/NAME'") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
