package systemtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/storage/s3test"
)

// guide is a guide and what .ci/install installs for its blocks, which a line such as
// `<!-- needs: nat -->` names: Python environments, or npm packages for Node.
type guide struct {
	name, file, text string
	needs            []string
}

var needsLine = regexp.MustCompile(`(?m)^<!-- needs: (.+) -->$`)

// onlyTables are the guides without commands.
var onlyTables = []string{"comparison", "tested"}

func allGuides(t *testing.T) (out []guide) {
	t.Helper()
	files, err := filepath.Glob("../doc/guides/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		file, err := filepath.Abs(f)
		if err != nil {
			t.Fatal(err)
		}
		g := guide{name: strings.TrimSuffix(filepath.Base(f), ".md"), file: file, text: string(text)}
		if m := needsLine.FindStringSubmatch(g.text); m != nil {
			g.needs = strings.Fields(m[1])
		}
		out = append(out, g)
	}
	return out
}

// TestGuides runs the guides that need nothing but this program.
func TestGuides(t *testing.T) {
	tictactoe := ticTacToe(t)
	for _, g := range allGuides(t) {
		if g.needs == nil && !slices.Contains(onlyTables, g.name) {
			t.Run(g.name, func(t *testing.T) { g.run(t, tictactoe) })
		}
	}
}

// TestPythonGuides runs the guides that need Python environments, or npm packages,
// which exist.
func TestPythonGuides(t *testing.T) {
	var missing []string
	for _, g := range allGuides(t) {
		var path []string
		absent := slices.DeleteFunc(slices.Clone(g.needs), func(name string) bool {
			venv, err := filepath.Abs("../../../.venv-" + name)
			if err != nil {
				t.Fatal(err)
			}
			path = append(path, filepath.Join(venv, "bin"))
			return exists(filepath.Join(venv, "made-from")) || exists("../../../.stores/"+name+"/made-from") // written last
		})
		missing = append(missing, absent...)
		if g.needs != nil && len(absent) == 0 && g.name != tracesGuide { // which TestTraces runs
			t.Run(g.name, func(t *testing.T) { g.run(t, append(path, ticTacToe(t))...) })
		}
	}
	if missing != nil {
		t.Skip("run .ci/install " + strings.Join(missing, " "))
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// TestGuidesQuoteProgramsThatCIRuns checks that a guide shows a program as it is.
func TestGuidesQuoteProgramsThatCIRuns(t *testing.T) {
	for file, name := range map[string]string{
		"programs/agent.mjs": "protocol-agent", "programs/agentservice.mjs": "protocol-agent", "programs/trainer.sh": "protocol-trainer",
		"agents/chat_agent.py": "traces", "programs/reward.mjs": "protocol-reward", "programs/rewardservice.mjs": "protocol-reward", "rewards/arrow_reward.py": "protocol-reward",
	} {
		program, err := os.ReadFile("../../../testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile("../doc/guides/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\n"+string(program)) {
			t.Errorf("guide %s does not quote testdata/%s", name, file)
		}
	}
}

// run runs the guide's blocks in an empty folder, with these folders in front of
// PATH. Rollmill is there too, and Python finds the module of cmd/python.
// PIPELINES is the folder of that name, and STORE the URI of a folder in a bucket.
func (g guide) run(t *testing.T, path ...string) {
	t.Helper()
	g.runIn(t, t.TempDir(), path...)
}

// runIn is run in a folder, and returns what the blocks printed.
func (g guide) runIn(t *testing.T, dir string, path ...string) string {
	t.Helper()
	blocks, err := filepath.Abs("../../../.ci/blocks")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", blocks, g.file)
	cmd.Dir = dir
	store := s3test.Start(t).URI("runs/demo") // sets keys in the environment
	cmd.Env = append(os.Environ(), "STORE="+store, "PATH="+strings.Join(append(path, os.Getenv("PATH")), string(os.PathListSeparator)))
	for name, folder := range map[string]string{"PYTHONPATH": "../../python/src", "PIPELINES": "../../../pipelines"} {
		if folder, err = filepath.Abs(folder); err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, name+"="+folder)
	}
	cmd.WaitDelay = 30 * time.Second // a job that outlives the shell holds its output
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	return string(out)
}

// ticTacToe returns a folder with tictactoe, which is built once.
func ticTacToe(t *testing.T) string {
	t.Helper()
	if out, err := builtTicTacToe(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(programs, "tictactoe")
}

var builtTicTacToe = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "build", "-ldflags", "-s -w", "-o", filepath.Join(programs, "tictactoe")+"/", "../../tictactoe").CombinedOutput()
})
