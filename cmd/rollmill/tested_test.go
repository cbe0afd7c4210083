package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// tested is what a line's tests last passed with: a package of a lock in its version,
// and the day. Who changes the lock runs them and writes both.
type tested struct {
	Lock, Package, Version string
	Passed                 string
}

// testedHarness is a line of testdata/matrix/harnesses.jsonl, whose tests are in
// stages/rollout/recorder and are run from that list, but for those in containers.
// Breaks are the causes for which its tokens train in several sequences.
type testedHarness struct {
	tested
	Name           string
	Protocol, Kind string // Kind: of agent, where it has several
	Whole, Stream  string // tests; "" for what it does not do
	Breaks         string
	Container      string // a test of stages/rollout/agents/harbor
}

// testedTrainer is a line of testdata/matrix/trainers.jsonl, or of readers.jsonl, whose form is import's. A check is a script
// that CI runs, perhaps with one of its functions, or a Go package with a test.
type testedTrainer struct {
	tested
	Name, Form, By, Does string
	Code                 bool // the trainer's own code is run
	Checks               []string
}

func readMatrix[T any](t *testing.T, name string) (out []T) {
	t.Helper()
	for line := range strings.Lines(fileText(t, "testdata/matrix/"+name)) {
		var row T
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&row); err != nil {
			t.Fatalf("%s: %v: %s", name, err, line)
		}
		out = append(out, row)
	}
	return out
}

// fileText returns a file of the repository.
func fileText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// columns are the version after a name, the lock and the day, of a line of the page.
func (v tested) columns(t *testing.T, name string) string {
	t.Helper()
	if _, err := time.Parse(time.DateOnly, v.Passed); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if v.Lock == "" {
		return fmt.Sprintf("%s | - | %s", name, v.Passed)
	}
	if locked := versionIn(t, v.Lock, v.Package); locked != v.Version {
		t.Errorf("%s: the lock %s has %s, and its tests passed with %s: run them, and write version and day into testdata/matrix", name, v.Lock, locked, v.Version)
	}
	return fmt.Sprintf("%s %s | %s | %s", name, v.Version, v.Lock, v.Passed)
}

// versionIn returns the version of a package in a lock of .ci/locks.
func versionIn(t *testing.T, lock, name string) string {
	t.Helper()
	if _, err := os.Stat("../../.ci/locks/" + lock + ".txt"); err == nil {
		if m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `==(\S+)`).FindStringSubmatch(fileText(t, ".ci/locks/"+lock+".txt")); m != nil {
			return m[1]
		}
		t.Fatalf(".ci/locks/%s.txt has no %s", lock, name)
	}
	var v struct{ Dependencies map[string]string }
	if err := json.Unmarshal([]byte(fileText(t, ".ci/locks/"+lock+"/package.json")), &v); err != nil || v.Dependencies[name] == "" {
		t.Fatalf(".ci/locks/%s has no %s: %v", lock, name, err)
	}
	return v.Dependencies[name]
}

// testedPage is the guide "tested", which make docs writes.
func testedPage(t *testing.T) string {
	var b bytes.Buffer
	b.WriteString(testedHead)
	for _, h := range readMatrix[testedHarness](t, "harnesses.jsonl") {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", h.columns(t, h.Name),
			strings.TrimSuffix(h.Protocol+", "+h.Kind, ", "), quoted(h.Whole), quoted(h.Stream), cmp.Or(h.Breaks, "-"), quoted(h.Container))
	}
	b.WriteString(testedTrainers)
	for _, r := range readMatrix[testedTrainer](t, "trainers.jsonl") {
		by := map[bool]string{true: "its code", false: "its schema"}[r.Code]
		var checks []string
		for _, c := range r.Checks {
			checks = append(checks, quoted(c))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s: %s | %s |\n", r.columns(t, r.Name), r.Form, r.By, by, r.Does, strings.Join(checks, ", "))
	}
	b.WriteString(testedReaders)
	for _, r := range readMatrix[testedTrainer](t, "readers.jsonl") {
		by := map[bool]string{true: "its code", false: "its schema"}[r.Code]
		fmt.Fprintf(&b, "| %s | %s | %s: %s | `%s` |\n", r.columns(t, r.Name), r.Form, by, r.Does, strings.Join(r.Checks, "`, `"))
	}
	b.WriteString("\n<!-- Generated from testdata/matrix: `make docs` rewrites it. -->\n")
	return b.String()
}

func quoted(test string) string {
	if test == "" {
		return "-"
	}
	return "`" + test + "`"
}

const testedHead = `# What is tested

See which harnesses, trainers and logs Rollmill was tested with, and which test proves it.

## Harnesses

These run unmodified against an engine that logs what it sampled. Every recorded id and logprob equals the log and trains
in exactly one sequence, after exactly the prompt that the engine had. Each conversation has a tool call and its result (with
instructor, a refused answer and its correction). The tests are in
` + "`stages/rollout/recorder`" + `. Every CI run tests the SDKs, Pydantic AI and the Vercel AI SDK, and ` + "`.ci/full`" + ` the coding agents and the
other agent frameworks. ` + "`-`" + ` means that the harness does not do this.

"lock" is the list of its packages in ` + "`.ci/locks`" + `, and "passed" the day on which its tests last passed with this version. "breaks" says why the conversation trains as several sequences and not as one: the
agent changes earlier messages or begins another conversation, as [harnesses](harnesses.md#sub-agents-and-compaction) describes. The tests of the last column are in
` + "`stages/rollout/agents/harbor`" + `: ` + "`--harness`" + ` by name, in a container without a network, as root and as another user.

| harness | lock | passed | protocol | whole | streaming | breaks | in a container |
|---|---|---|---|---|---|---|---|
`

const testedTrainers = `
## Trainers

"its code" means that the trainer's own code reads what Rollmill hands over, in every CI run, on a CPU. "its schema" means that
the fields are compared with the form that the trainer documents, or that a test server of its API accepts them. The forms: *rows* are
conversations with rewards, *samples* and *sequences* have token ids, *preference* has pairs, and *kto* has labels.

| trainer | lock | passed | form | handed over by | checked by | tests |
|---|---|---|---|---|---|---|
`

const testedReaders = `
## Logs and recordings

What import reads of these was compared with what the same calls were, in every CI run. "its code" means that the program itself wrote
the files, "its schema" that they are written to its documentation. Files of other formats are in ` + "`testdata/importers`" + `.

| source | lock | passed | format | compared | tests |
|---|---|---|---|---|---|
`

// TestTestedChecksRun: each test on the page exists, and CI runs it.
func TestTestedChecksRun(t *testing.T) {
	for _, h := range readMatrix[testedHarness](t, "harnesses.jsonl") {
		for _, test := range []string{h.Whole, h.Stream} {
			if err := checkRuns(t, "stages/rollout/recorder "+cmp.Or(test, "TestClientsPython/")); err != "" {
				t.Errorf("%s: %s", h.Name, err)
			}
			if test != "" && !strings.Contains(test+"/", "/"+h.Protocol+"/") {
				t.Errorf("%s: %s is no test of %s", h.Name, test, h.Protocol)
			}
		}
		if err := checkRuns(t, "stages/rollout/agents/harbor "+cmp.Or(h.Container, "TestNames/")); err != "" {
			t.Errorf("%s: %s", h.Name, err)
		}
		if h.Whole+h.Stream == "" {
			t.Errorf("%s by %s has no test", h.Name, h.Protocol)
		}
	}
	for _, r := range append(readMatrix[testedTrainer](t, "trainers.jsonl"), readMatrix[testedTrainer](t, "readers.jsonl")...) {
		for _, check := range r.Checks {
			if err := checkRuns(t, check); err != "" {
				t.Errorf("%s, %s: %s", r.Name, r.Form, err)
			}
		}
		if len(r.Checks) == 0 {
			t.Errorf("%s, %s: no test", r.Name, r.Form)
		}
	}
	for _, wrong := range []string{"stages/rollout/recorder TestNothing", "stages/nowhere TestConformance", "testdata/consumers/files/check.py nothing",
		"testdata/consumers/files/nothing.py",
		"testdata/consumers/loaders/rows.py", "testdata/consumers/trainers/check.py imported"} {
		if checkRuns(t, wrong) == "" {
			t.Errorf("%s counts as a test", wrong)
		}
	}
}

// checkRuns returns why CI does not run a check, or "".
func checkRuns(t *testing.T, check string) (why string) {
	where, name, _ := strings.Cut(check, " ")
	if strings.HasSuffix(where, ".py") {
		return scriptRuns(t, where, name)
	}
	name, _, _ = strings.Cut(name, "/")
	files, _ := filepath.Glob("../../" + where + "/*_test.go")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("\nfunc "+name+"(t *testing.T)")) {
			return ""
		}
	}
	return "package " + where + " has no test " + name
}

// scriptRuns: CI runs the script, and the script uses the function besides
// defining it, by a call, a table or a decorator.
func scriptRuns(t *testing.T, script, function string) (why string) {
	text, err := os.ReadFile("../../" + script)
	if err != nil {
		return err.Error()
	}
	called := regexp.MustCompile(`bin/python"?\s+(testdata/consumers/|pipelines/torch/)?` +
		regexp.QuoteMeta(strings.TrimPrefix(strings.TrimPrefix(script, "testdata/consumers/"), "pipelines/torch/")))
	if !called.MatchString(fileText(t, ".ci/run") + fileText(t, ".ci/full") + fileText(t, "Makefile")) {
		return script + " is run neither by CI nor by make"
	}
	if function == "" {
		return ""
	}
	defined := regexp.MustCompile(`(?m)^(@.*\n)*def ` + function + `\(`).Find(text)
	uses := len(regexp.MustCompile(`\b`+function+`\b`).FindAll(text, -1))
	if defined == nil || uses < 2 && !bytes.HasPrefix(defined, []byte("@")) {
		return script + " does not run a function " + function
	}
	return ""
}
