package systemtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// harborFiles returns a path below testdata/harbor.
func harborFiles(t *testing.T, names ...string) string {
	t.Helper()
	at, err := filepath.Abs(filepath.Join(append([]string{"../../../testdata/harbor"}, names...)...))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

var long = flag.Bool("long", false, "run the test that starts containers for minutes")

// containers skips a test without -long, and where no container can run.
func containers(t *testing.T) {
	t.Helper()
	if !*long {
		t.Skip("it starts containers; -long runs it")
	}
	t.Setenv("CONTAINERS_CONF", harborFiles(t, "containers.conf"))
	t.Setenv("BUILDAH_ISOLATION", "chroot")
	t.Setenv("TMPDIR", t.TempDir())
	if out, err := exec.Command("podman", "image", "inspect", "localhost/rollmill-test:base").CombinedOutput(); err != nil {
		t.Skipf(".ci/install containers brings podman, and .ci/base-image makes the tests' image: %v %s", err, out)
	}
}

// solver is a model that solves some attempts by the tasks' solutions, as the seed
// decides, and others not.
func solver(t *testing.T) func(recordertest.Request) recordertest.Reply {
	solutions := map[string]string{}
	folders, _ := filepath.Glob(harborFiles(t, "tasks", "*"))
	for _, folder := range folders {
		script, err := os.ReadFile(filepath.Join(folder, "solution", "solve.sh"))
		if err != nil {
			t.Fatal(err)
		}
		asked, err := os.ReadFile(filepath.Join(folder, "instruction.md"))
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(string(asked))
		solutions[words[len(words)-1]] = string(script)
	}
	return func(q recordertest.Request) recordertest.Reply {
		if len(q.Messages) < 2 || q.Messages[len(q.Messages)-1].Role == "tool" {
			return recordertest.Reply{Content: "It is done."}
		}
		words := strings.Fields(q.Messages[1].Content)
		command := solutions[words[len(words)-1]]
		if seed, _ := strconv.ParseUint(string(q.Fields["seed"]), 10, 64); seed%3 == 0 {
			command = "echo nothing"
		}
		arguments, _ := json.Marshal(map[string]string{"command": command})
		return recordertest.Reply{ToolCalls: []formats.ToolCall{{ID: "call-0", Name: "shell", Arguments: string(arguments)}}}
	}
}

// judgeOfLogs is a reward that reads what the verifier left.
const judgeOfLogs = `import json, sys

for line in sys.stdin:
    row = json.loads(line)
    files = row["artifacts"]
    text = files.get("/logs/verifier/reward.txt")
    reward = float(text) if text else json.loads(files["/logs/verifier/reward.json"])["reward"]
    print(json.dumps({"id": row["id"], "reward": reward}), flush=True)
`

// TestHarborEpoch makes an epoch of Harbor tasks, its rollout killed KILLS times, and
// another by the project that init writes.
func TestHarborEpoch(t *testing.T) {
	containers(t)
	kills, generations := 2, 4
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills, generations = n, 4*n
	}
	tasks := "harbor:" + harborFiles(t, "tasks")
	root := t.TempDir()
	args := func(e *chaosEngine, out string) []string {
		return []string{"rollout", "--examples", tasks, "--agent", "harbor", "--generations", strconv.Itoa(generations), "--url", e.URL(),
			"--model", "policy", "--run", "r", "--sampling-seed", "1", "--concurrency", "4", "--journal-every", chaosJournal.String(), "--out", out}
	}
	e := newChaosEngine(t, 1, 0)
	e.Script = solver(t)
	killed, whole := filepath.Join(root, "epoch-0", "rollout"), filepath.Join(root, "whole")
	dice := rand.New(rand.NewPCG(3, 1))
	var held []durable
	for kill := range kills {
		killAfter(t, e, args(e, killed), killed, 2+dice.IntN(2*3*generations/(kills+1)), kill)
		held = append(held, durableNow(t, killed, e))
	}
	finish(t, args(e, killed))
	checkNotRepeated(t, e, held)
	left, err := exec.Command("podman", "ps", "--all", "--filter", "label=rollmill.owner", "--format", "{{.Names}} {{.Labels}}").CombinedOutput()
	if err != nil || bytes.Contains(left, []byte(url.QueryEscape(os.TempDir()))) {
		t.Errorf("containers are left: %s, %v", left, err)
	}
	finish(t, args(e, whole))
	one, rows := trajectoriesAt(t, killed)
	two, _ := trajectoriesAt(t, whole)
	if one.RowsDigest != two.RowsDigest {
		t.Errorf("rows digests %s and, undisturbed, %s", one.RowsDigest, two.RowsDigest)
	}
	solved := 0
	for _, r := range rows {
		if r.Status != outcomes.StatusOK || r.Reward == nil {
			t.Errorf("%s %d: %s %s", r.ExampleID, r.Generation, r.FailureClass, r.Error)
		} else if *r.Reward == 1 {
			solved++
		}
	}
	if solved == 0 || solved == len(rows) {
		t.Errorf("%d of %d solved", solved, len(rows))
	}
	again := filepath.Join(root, "again.py")
	if err := os.WriteFile(again, []byte(judgeOfLogs), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, stage := range [][]string{
		{"score", "--in", killed, "--reward", "solved=stored", "--reward", "again*0=command:python3 " + again, "--out", filepath.Join(root, "epoch-0", "score")},
		{"group", "--in", filepath.Join(root, "epoch-0", "score"), "--out", filepath.Join(root, "epoch-0", "group")},
		{"curate", "--in", filepath.Join(root, "epoch-0", "group"), "--out", filepath.Join(root, "epoch-0", "curate")},
		{"submit", "--in", filepath.Join(root, "epoch-0", "curate"), "--out", filepath.Join(root, "epoch-0", "submit")},
	} {
		finish(t, stage)
	}
	scores, err := dataset.Open(t.Context(), filepath.Join(root, "epoch-0", "score"), dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scored, err := dataset.ReadAll[formats.Score](t.Context(), scores, "", scores.All())
	for i := range scored {
		if s := &scored[i]; len(s.Rewards) != 2 || s.Rewards[1].Value == nil || *s.Rewards[1].Value != *s.Reward {
			t.Errorf("%s: the files give %+v", s.TrajectoryID, s.Rewards)
		}
	}
	if err != nil || len(scored) != len(rows) {
		t.Errorf("%d scores of %d rows: %v", len(scored), len(rows), err)
	}
	attemptCurated(t, e, filepath.Join(root, "epoch-0", "curate"))
	project := filepath.Join(root, "project")
	finish(t, []string{"init", project, "--agent", "harbor", "--from", harborFiles(t, "tasks"), "--engine", e.URL(), "--model", "policy"})
	t.Setenv("ROLLMILL_ROLLOUT_GENERATIONS", "2")
	t.Setenv("ROLLMILL_ROLLOUT_SAMPLING_SEED", "1")
	if out, err := exec.Command("make", "-C", project, "check", "try", "epoch", "report").CombinedOutput(); err != nil {
		t.Errorf("the project of init: %v\n%s", err, out)
	}
}

// attemptCurated exports the tasks that curate kept, and attempts those again.
func attemptCurated(t *testing.T, e *chaosEngine, curated string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(harborFiles(t, "tasks"))); err != nil {
		t.Fatal(err)
	}
	manifest, again := filepath.Join(folder, "dataset.toml"), filepath.Join(folder, "again")
	finish(t, []string{"export", "--in", curated, "--to", "harbor-dataset", "--out", manifest})
	finish(t, []string{"rollout", "--examples", "harbor:file://" + manifest, "--agent", "harbor", "--generations", "1", "--url", e.URL(),
		"--model", "policy", "--sampling-seed", "1", "--out", again})
	tasks := func(at string) map[string]string {
		out := map[string]string{}
		_, rows := trajectoriesAt(t, at)
		for _, r := range rows {
			out[r.ExampleID] = r.Example
		}
		return out
	}
	if want, got := tasks(curated), tasks(again); len(want) == 0 || !maps.Equal(want, got) {
		t.Errorf("curate kept the tasks %v, and the manifest has %v", want, got)
	}
}
