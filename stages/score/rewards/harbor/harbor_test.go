package harbor

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

const taskFolder = "../../../../testdata/harbor/tasks"

func setup() score.Setup {
	return score.Setup{Name: "v", Log: slog.New(slog.DiscardHandler), Concurrency: 2}
}

// copied copies the tasks, and lets a test change them.
func copied(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tasks")
	if err := os.CopyFS(dir, os.DirFS(taskFolder)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDigest: whatever of a task's folder the tests depend on decides the values, and so do
// files that the task's own digest leaves out.
func TestDigest(t *testing.T) {
	dir := copied(t)
	digest := func() string {
		r, err := Kind.Make(dir, setup())
		if err != nil {
			t.Fatal(err)
		}
		return r.Describe().Digests["harbor:"+dir]
	}
	seen := map[string]string{}
	for _, c := range []struct {
		what   string
		change func()
	}{
		{"nothing", func() {}},
		{"tests", func() { write(t, dir+"/write-file/tests/test.sh", "#!/bin/sh\n") }},
		{"mode", func() { os.Chmod(dir+"/write-file/tests/test.sh", 0o600) }},
		{"cache", func() { write(t, dir+"/write-file/tests/__pycache__/x.pyc", "x") }},
		{"data", func() { write(t, dir+"/write-file/tests/data/x", "x") }},
		{"limits", func() {
			write(t, dir+"/fix-test/task.toml", "[verifier]\ntimeout_sec = 3\nuser = \"worker\"\nenv = {A = \"${B:-c}\"}\n")
		}},
	} {
		c.change()
		sum := digest()
		if before, known := seen[sum]; known || sum == "" {
			t.Errorf("%s and %s have the same digest %q", c.what, before, sum)
		}
		seen[sum] = c.what
	}
}

// TestSettings: what cannot be computed is said before a row is read.
func TestSettings(t *testing.T) {
	dir := copied(t)
	other := copied(t)
	write(t, filepath.Join(other, "again", "task.toml"), "[task]\nname = \"local/write-file\"\n")
	text, err := os.ReadFile(filepath.Join(dir, "write-file", "task.toml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(other, "again", "task.toml"), string(text))
	write(t, filepath.Join(other, "again", "instruction.md"), "x")
	write(t, filepath.Join(other, "again", "tests", "test.sh"), "x")
	asks := copied(t)
	write(t, filepath.Join(asks, "write-file", "task.toml"), "[verifier]\nenv = {A = \"${OF_THE_OPERATOR}\"}\n")
	for arguments, says := range map[string]string{
		"":                            "name the folder",
		t.TempDir():                   "no task",
		dir + ",repeat=0":             "from 1 to 1000",
		dir + ",repeat=1001":          "from 1 to 1000",
		dir + ",repeat=half":          "half",
		other:                         "are both named",
		asks:                          "OF_THE_OPERATOR",
		dir + ",runtime=":             "",
		dir + ",repeat=2":             "",
		dir + ",runtime=command: a,b": "",
	} {
		_, err := Kind.Make(arguments, setup())
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", arguments, err)
		}
	}
	allowed := setup()
	allowed.TaskEnv = map[string]string{"OF_THE_OPERATOR": "x"}
	if _, err := Kind.Make(asks, allowed); err != nil {
		t.Error(err)
	}
}

// TestUnknown: a row that cannot be verified has no value, and says why.
func TestUnknown(t *testing.T) {
	task, err := harbor.Read(filepath.Join(taskFolder, "write-file"))
	if err != nil {
		t.Fatal(err)
	}
	for example, says := range map[string]string{
		"":                                  "is no Harbor task",
		`{"id": "x"}`:                       "is no Harbor task",
		`[1]`:                               "is no Harbor task",
		`{"id": "x", "task_digest": "old"}`: `has no task "x"`,
		`{"id": "` + task.Name + `", "task_digest": "old"}`: "rollout --keep-workspace",
	} {
		r, err := Kind.Make(taskFolder, setup())
		if err != nil {
			t.Fatal(err)
		}
		row := &score.Row{Trajectory: &formats.Trajectory{TrajectoryID: "t", ExampleID: "e", Example: example}}
		v := rewardtest.Score(t, r, []*score.Row{row})[0]
		if v.Failure != outcomes.RewardError || !strings.Contains(v.Error, says) || v.Reward != 0 {
			t.Errorf("%s: %+v", example, v)
		}
	}
}

// TestAgreed: runs that differ are no reward, and their rate is a part.
func TestAgreed(t *testing.T) {
	one, zero, failed := 1.0, 0.0, run{failure: outcomes.RewardTimeout, err: errors.New("slow"), Output: "begun"}
	yes, no := run{Reward: &one, Output: "passed"}, run{Reward: &zero, Output: "broken"}
	for name, c := range map[string]struct {
		runs    []run
		reward  float64
		failure string
		error   string
		reason  string
		flaky   float64
	}{
		"once":         {[]run{yes}, 1, "", "", "passed", -1},
		"once, failed": {[]run{failed}, 0, outcomes.RewardTimeout, "slow", "begun", -1},
		"equal":        {[]run{no, no, no}, 0, "", "", "broken", 0},
		"flaky":        {[]run{yes, yes, no, yes}, 0, outcomes.RewardError, "run 1 gave 1, and run 3 gave 0", "run 1:\npassed\nrun 3:\nbroken", 0.25},
		"half":         {[]run{no, yes}, 0, outcomes.RewardError, "run 1 gave 0, and run 2 gave 1", "run 1:\nbroken\nrun 2:\npassed", 0.5},
		"one failed":   {[]run{yes, failed}, 0, outcomes.RewardError, "run 2 gave none", "run 1:\npassed\nrun 2:\nbegun", 0.5},
		"all failed":   {[]run{failed, failed}, 0, outcomes.RewardTimeout, "slow", "begun", 0},
	} {
		v := agreed(c.runs)
		if v.Reward != c.reward || v.Failure != c.failure || !strings.Contains(v.Error, c.error) || v.Reason != c.reason {
			t.Errorf("%s: %+v", name, v)
		}
		switch {
		case c.flaky < 0 && v.Parts != nil, c.flaky >= 0 && (len(v.Parts) != 1 || math.Abs(*v.Parts[0].Value-c.flaky) > 1e-9):
			t.Errorf("%s: parts %+v", name, v.Parts)
		}
	}
}
