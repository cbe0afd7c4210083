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

var (
	needsLine = regexp.MustCompile(`(?m)^<!-- needs: (.+) -->$`)
	linked    = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
)

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

// TestGuidePages checks what help and the README show of the guides, and where
// their links lead.
func TestGuidePages(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := rollmill(t, "help", "guides")
	if !regexp.MustCompile(`^.*\n  quick-start .*\n  concepts .*\n`).MatchString(list) {
		t.Errorf("the guides to begin with are not the first:\n%s", list)
	}
	works := map[string]bool{} // commands of help, each run once
	for _, g := range allGuides(t) {
		shownAlone(t, g, works)
		if !strings.HasPrefix(g.text, "# ") || !regexp.MustCompile(`(?m)^  `+g.name+` +\S.*\.$`).MatchString(list) {
			t.Errorf("guide %s needs a title in its first line and a first sentence:\n%s", g.name, list)
		}
		if !strings.Contains(string(readme), "(cmd/rollmill/doc/guides/"+g.name+".md)") {
			t.Errorf("the README does not link guide %s", g.name)
		}
		for _, m := range linked.FindAllStringSubmatch(g.text, -1) {
			if _, err := os.Stat(filepath.Join("../doc/guides", m[1])); err != nil {
				t.Errorf("guide %s: %v", g.name, err)
			}
		}
		page, _ := os.ReadFile("../doc/" + g.name + ".md")
		if strings.Contains(string(page), "\n# rollmill "+g.name+"\n") || g.name == "guides" {
			t.Errorf("guide %s has the name of a command, which help shows", g.name)
		}
	}
}

// shownAlone checks that help shows the whole guide, to a reader who has nothing
// but the program: each link is a command of help that works, or an address.
func shownAlone(t *testing.T, g guide, works map[string]bool) {
	t.Helper()
	code, out, stderr := rollmill(t, "help", g.name)
	if code != 0 || strings.Contains(out, "<!--") || regexp.MustCompile(`\]\([^h#]`).MatchString(out) {
		t.Errorf("help %s: exit code %d, %s%s", g.name, code, out, stderr)
	}
	for _, line := range strings.Split(g.text, "\n") {
		if !strings.Contains(line, "](") && !strings.HasPrefix(line, "<!--") && !strings.Contains(out+"\n", line+"\n") {
			t.Errorf("help %s lacks %q", g.name, line)
		}
	}
	for _, m := range regexp.MustCompile("`rollmill (help [a-z+_ -]+)`").FindAllStringSubmatch(out, -1) {
		if works[m[1]] {
			continue
		}
		if code, _, stderr := rollmill(t, strings.Fields(m[1])...); code != 0 {
			t.Errorf("guide %s: rollmill %s: %s", g.name, m[1], stderr)
		} else {
			works[m[1]] = true
		}
	}
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
		if g.needs != nil && len(absent) == 0 {
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
		"programs/reward.mjs": "protocol-reward", "programs/rewardservice.mjs": "protocol-reward", "rewards/arrow_reward.py": "protocol-reward",
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
	blocks, err := filepath.Abs("../../../.ci/blocks")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", blocks, g.file)
	cmd.Dir = t.TempDir()
	store := s3test.Start(t).URI("runs/demo") // sets keys in the environment
	cmd.Env = append(os.Environ(), "STORE="+store, "PATH="+strings.Join(append(path, os.Getenv("PATH")), string(os.PathListSeparator)))
	for name, folder := range map[string]string{"PYTHONPATH": "../../python/src", "PIPELINES": "../../../pipelines"} {
		if folder, err = filepath.Abs(folder); err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, name+"="+folder)
	}
	cmd.WaitDelay = 30 * time.Second // a job that outlives the shell holds its output
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
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
