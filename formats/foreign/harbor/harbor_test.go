package harbor

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/storage/fault"
)

// task writes a task folder with these files beside a complete one's.
func task(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a-task")
	whole := map[string]string{"task.toml": "", "instruction.md": "Do it.", "tests/test.sh": "#!/bin/sh\n", "environment/Dockerfile": "FROM x\n"}
	for name, text := range files {
		whole[name] = text
	}
	for name, text := range whole {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	dir := task(t, map[string]string{"instruction.md": "<!-- CANARY: x -->\n# canary y\n\nWrite it.\n\n# canary stays\n", "task.toml": `
schema_version = "1.4"
artifacts = ["/app/out", {source = "/app/more", destination = "x"}]
unheard_of = 1
[task]
name = "org/name"
[metadata]
difficulty = "easy"
[agent]
timeout_sec = 1.5
user = 1000
[verifier]
env = {KEY = "${KEY:-none}"}
[environment]
cpus = 2
memory = "2G"
storage = "512M"
allow_internet = false
workdir = "/app"
[solution.env]
A = "b"
`})
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Digest) != 64 {
		t.Errorf("digest %q", got.Digest)
	}
	got.Digest = ""
	want := Task{Dir: dir, Name: "org/name", Instruction: "Write it.\n\n# canary stays", Metadata: map[string]any{"difficulty": "easy"},
		Ignored: []string{"unheard_of"}, Agent: Phase{Timeout: 1500 * time.Millisecond, User: "1000"},
		Verifier: Phase{Timeout: 10 * time.Minute, Env: map[string]string{"KEY": "${KEY:-none}"}}, Solution: map[string]string{"A": "b"},
		Artifacts:   []string{"/app/out", "/app/more"},
		Environment: Environment{BuildTimeout: 10 * time.Minute, CPUs: 2, MemoryMB: 2048, StorageMB: 512, Workdir: "/app", NoNetwork: true}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got: %s", d)
	}
}

// TestRefused: what a task needs and Rollmill does not run is named.
func TestRefused(t *testing.T) {
	for says, files := range map[string]map[string]string{
		"several steps":                         {"task.toml": "[[steps]]\nname = \"one\"\n"},
		"a compose file":                        {"environment/docker-compose.yaml": ""},
		"a GPU":                                 {"task.toml": "[environment]\ngpus = 1\n"},
		"a TPU":                                 {"task.toml": "[environment.tpu]\ntype = \"v4\"\n"},
		"allowed hosts":                         {"task.toml": "[environment]\nallowed_hosts = [\"a\"]\n"},
		"another network":                       {"task.toml": "[environment]\nnetwork_mode = \"no-network\"\n[verifier]\nnetwork_mode = \"public\"\n"},
		"an environment of its own":             {"task.toml": "[verifier]\nenvironment_mode = \"separate\"\n"},
		"verifier.collect":                      {"task.toml": "[[verifier.collect]]\ncommand = \"x\"\n"},
		"the system windows":                    {"task.toml": "[environment]\nos = \"windows\"\n"},
		"MCP servers":                           {"task.toml": "[[environment.mcp_servers]]\nname = \"x\"\n"},
		"skills":                                {"task.toml": "[environment]\nskills_dir = \"x\"\n"},
		"a health check":                        {"task.toml": "[environment.healthcheck]\ncommand = \"x\"\n"},
		".harborignore":                         {".harborignore": ""},
		"trajectory.json":                       {"trajectory.json": "{}"},
		"not the TOML of a task":                {"task.toml": "[agent\n"},
		"environment.cpus is NaN":               {"task.toml": "[environment]\ncpus = nan\n"},
		"environment.memory is many":            {"task.toml": "[environment]\nmemory = \"many\"\n"},
		"environment.memory is 2G":              {"task.toml": "[environment]\nmemory = \"2G\"\nmemory_mb = 1\n"},
		"environment.network_mode is allowlist": {"task.toml": "[environment]\nnetwork_mode = \"allowlist\"\n"},
		"environment.workdir is app":            {"task.toml": "[environment]\nworkdir = \"app\"\n"},
		"artifact ../x is not a path":           {"task.toml": "artifacts = [\"../x\"]\n"},
		"the instruction is empty":              {"instruction.md": "# canary\n\n"},
		"memory_mb or storage_mb is negative":   {"task.toml": "[environment]\nmemory_mb = -1\n"},
	} {
		_, err := Read(task(t, files))
		var input *fault.Error
		if err == nil || !errors.As(err, &input) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	dir := task(t, nil)
	os.Remove(filepath.Join(dir, "tests", "test.sh"))
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "no tests") {
		t.Error(err)
	}
	dir = task(t, nil)
	if err := os.Symlink("../../secret", filepath.Join(dir, "tests", "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "leads out of the task's folder") {
		t.Error(err)
	}
}

// TestDigest: the name of each file and its content count, and in the image's name
// whether it runs. The first digest is what Harbor 0.25's Packager says of that task.
func TestDigest(t *testing.T) {
	one, err := Read(task(t, map[string]string{"tests/a": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range []map[string]string{{"tests/a": "2"}, {"tests/b": "1"}, {"tests/a": "1", "solution/solve.sh": ""}} {
		if two, err := Read(task(t, files)); err != nil || two.Digest == one.Digest {
			t.Errorf("%v: %v, the same digest", files, err)
		}
	}
	if want := "d969b01e5e467a94f7b89660cd10d037daeaf3d82e95a6d4536399b536d9de24"; one.Digest != want {
		t.Errorf("digest %s", one.Digest)
	}
	before, err := one.ImageName()
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(filepath.Join(one.Dir, "environment", "Dockerfile"), 0o755)
	if after, err := one.ImageName(); err != nil || after == before {
		t.Error("an image of a file that runs has the same name", err)
	}
	for _, name := range []string{"tests/__pycache__/a", "tests/a.pyc", "tests/a~", "notes.md", "tests/.DS_Store"} {
		if two, err := Read(task(t, map[string]string{"tests/a": "1", name: "1"})); err != nil || two.Digest != one.Digest {
			t.Errorf("%s counts: %v", name, err)
		}
	}
	if two, err := Read(task(t, map[string]string{"tests/a": "1"})); err != nil || two.Digest != one.Digest {
		t.Error("the same task in another folder has another digest", err)
	}
}

func TestFind(t *testing.T) {
	dir := filepath.Dir(task(t, nil))
	for place, want := range map[string]int{dir: 1, filepath.Join(dir, "a-task"): 1, filepath.Join(dir, "a*"): 1, filepath.Join(dir, "b*"): 0,
		filepath.Join(dir, "["): 0, filepath.Join(dir, "none"): 0} {
		found, err := Find(place)
		if input := (*fault.Error)(nil); err != nil && !errors.As(err, &input) {
			t.Errorf("%s: %v", place, err)
		}
		if len(found) != want || (want == 0) != (err != nil) {
			t.Errorf("%s: %v, %v", place, found, err)
		}
	}
}

func TestRewards(t *testing.T) {
	for _, c := range []struct {
		json, text string
		want       map[string]float64
		says       string
	}{
		{json: `{"reward": 0.5, "built": true}`, text: "1", want: map[string]float64{"reward": 0.5, "built": 1}},
		{text: " 0.25\n", want: map[string]float64{"reward": 0.25}},
		{says: "neither reward.json nor reward.txt"},
		{text: "\n", says: "reward.txt is empty"},
		{json: " ", text: "1", says: "reward.json is empty"},
		{text: "nan", says: "not a finite number"},
		{text: "1e999", says: "not a finite number"},
		{text: "one", says: "not a finite number"},
		{json: `{"reward": 1e999}`, says: "1e999"},
		{json: `{"reward": NaN}`, says: "not an object of numbers"},
		{json: `[1]`, says: "not an object of numbers"},
		{json: `1`, says: "not an object of numbers"},
		{json: `{}`, says: "0 rewards"},
		{json: `{"reward": null}`, says: `"reward" is not a number`},
		{json: `{"reward": "1"}`, says: `"reward" is not a number`},
		{text: strings.Repeat("1", 1<<20), says: "more than 65536 bytes"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{RewardJSON: c.json, RewardText: c.text} {
			if text != "" {
				os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)
			}
		}
		got, err := Rewards(dir)
		if c.says == "" && (err != nil || cmp.Diff(c.want, got) != "") || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s%.20s: %v, %v", c.json, c.text, got, err)
		}
	}
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, RewardJSON), 0o777)
	os.WriteFile(filepath.Join(dir, RewardText), []byte("1"), 0o666)
	if err := NoRewards(dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"", "[environment]\ncpus = 2\nmemory = \"2G\"\n",
		"artifacts = [{source = \"/a\"}]\n", "[agent]\nuser = 1\ntimeout_sec = 1e300\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Read(task(t, map[string]string{"task.toml": text}))
		var input *fault.Error
		if err != nil && !errors.As(err, &input) {
			t.Errorf("%v", err)
		}
		if err == nil && (got.Agent.Timeout < 0 || got.Environment.MemoryMB < 0) {
			t.Errorf("%+v", got)
		}
	})
}

func FuzzRewards(f *testing.F) {
	for _, text := range []string{`{"reward": 1}`, `{"a": 1e308, "b": true}`, `[]`, `{"a": {}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, RewardJSON), []byte(text), 0o666)
		got, err := Rewards(dir)
		if err == nil && len(got) == 0 {
			t.Error("no rewards, and no error")
		}
		for name, v := range got {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: %v", name, v)
			}
		}
	})
}

// TestATaskOfAnySizeIsRefused checks that the digest of a task's files ends: a sparse file
// of a terabyte is refused before it is read.
func TestATaskOfAnySizeIsRefused(t *testing.T) {
	dir := task(t, map[string]string{"environment/data.bin": ""})
	if err := os.Truncate(filepath.Join(dir, "environment/data.bin"), 1<<40); err != nil {
		t.Skip(err)
	}
	begun := time.Now()
	if _, err := Read(dir); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "data.bin") || time.Since(begun) > time.Minute {
		t.Errorf("%s: %v", time.Since(begun), err)
	}
}
