package nat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/outcomes"
)

const samples = "../../../testdata/importers/nat/"

// files are by nvidia-nat 1.9.0: those of nat eval by the program (those of ATIF are
// cut to two items); items.json and the trajectories by its models.
var files = []string{samples + "default/workflow_output.json", samples + "default/correct_output.json",
	"testdata/eval/workflow_output_atif.json",
	"testdata/made/items.json", "testdata/trajectories.json", "testdata/trajectories.jsonl"}

const allSteps = samples + "steps/workflow_output.json"

func TestRun(t *testing.T) { foreigntest.Importer(t, Importer, importers.Options{}, files...) }

// FuzzItem reads lines, the form that any file of NAT can have.
func FuzzItem(f *testing.F) {
	var seeds [][]byte
	for _, path := range append(files, allSteps) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for r, err := range Importer.Records.All(importers.File{Name: path, R: bytes.NewReader(data), Size: int64(len(data))}) {
			if err != nil {
				f.Fatal(err)
			}
			var line bytes.Buffer
			if json.Compact(&line, r.Data) == nil && line.Len() < 20000 {
				seeds = append(seeds, line.Bytes())
			}
		}
	}
	foreigntest.Fuzz(f, Importer, importers.Options{}, "f.jsonl", seeds...)
}

// FuzzPrinted reads what Python prints.
func FuzzPrinted(f *testing.F) {
	for _, s := range []string{`[{'a': 1, "b": (True, None, 'it\'s', "\x41\u00e9\n"), 'c': -1.5e3}]`, `{'a': nan}`,
		`(1,)`, `[]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, ok := python(s); ok && !json.Valid(v) {
			t.Errorf("%q became %s", s, v)
		}
	})
}

func TestWhatPythonPrints(t *testing.T) {
	for in, want := range map[string]string{
		`[{'a': 1, "b": (True, None, 'it\'s', "\x41\u00e9\n\q"), 'c': -1.5e3}]`: `[{"a":1,"b":[true,null,"it's","Aé\n\\q"],"c":-1.5e3}]`,
		`(1,)`: `[1]`, `{'a': nan}`: `{"a":null}`, `[]`: `[]`, ` 'x' `: `"x"`,
		`[1`: "", `{1: 2}`: "", `'a`: "", `foo()`: "", ``: "", `'\x4'`: "", `[,]`: "", strings.Repeat("[", 200): "",
	} {
		got, ok := python(in)
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%q became %q, %v", in, got, ok)
		}
	}
}

// items imports a file with the evaluators' scores beside it.
func items(t *testing.T, o importers.Options, path string) (out []importers.Item) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := importers.File{Name: path, R: bytes.NewReader(data), Size: int64(len(data)), Options: &o}
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), Importer.Companions))
	for _, name := range names {
		f.Companions = append(f.Companions,
			importers.Companion{Name: filepath.Base(name), Read: func() ([]byte, error) { return os.ReadFile(name) }})
	}
	for p, err := range foreigntest.All(Importer, f) {
		if err != nil || p.Err != nil {
			t.Fatal(err, p.Err)
		}
		out = append(out, p.Items...)
	}
	return out
}

func TestAnEvaluatorsScoreIsTheReward(t *testing.T) {
	path := files[0]
	want := []float64{1, 1, 1, 0}
	for i, x := range items(t, importers.Options{Map: map[string]string{"reward": "correct"}}, path) {
		if x.Row.Reward == nil || *x.Row.Reward != want[i] || len(x.Row.Rewards) != 2 {
			t.Errorf("row %d: %v of %+v", i, x.Row.Reward, x.Row.Rewards)
		}
	}
	for _, x := range items(t, importers.Options{}, path) {
		if x.Row.Reward != nil {
			t.Errorf("of two evaluators, one is the reward: %v", *x.Row.Reward)
		}
	}
}

func TestAFolderIsReadOnce(t *testing.T) {
	for name, skipped := range map[string]bool{"workflow_output.json": false, "correct_output.json": true,
		"workflow_output_atif.json": true,
		"config_metadata.json":      true, "trajectory_builder_run.jsonl": true, "trajectories.jsonl": false} {
		if skip(name) != skipped {
			t.Errorf("%s: %v", name, !skipped)
		}
	}
}

// TestSamplesAreAsExpected compares with what is known of the files of nat eval.
func TestSamplesAreAsExpected(t *testing.T) {
	data, err := os.ReadFile(samples + "expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var expected struct {
		Files map[string]struct {
			Trajectories []struct {
				ID, Answer string
				Rewards    map[string]float64
				Messages   []struct {
					Content, Role string
					Sampled       bool
					Tokens        int
					LogprobSum    float64           `json:"logprob_sum"`
					ToolCalls     []json.RawMessage `json:"tool_calls"`
					ToolCallID    string            `json:"tool_call_id"`
				}
			}
		}
	}
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"default/workflow_output.json": files[0],
		"steps/workflow_output.json": allSteps} {
		want := expected.Files[name].Trajectories
		got := items(t, importers.Options{}, path)
		if len(got) != len(want) || len(want) == 0 {
			t.Fatalf("%s: %d rows for %d", name, len(got), len(want))
		}
		for i, w := range want {
			row := &got[i].Row
			if row.TrajectoryID != w.ID || row.Answer != w.Answer || row.Status != outcomes.StatusOK ||
				len(row.Messages) != len(w.Messages) {
				t.Fatalf("%s: row %d: %+v", name, i, row)
			}
			for _, r := range row.Rewards {
				if w.Rewards[r.Name] != *r.Value {
					t.Errorf("%s: row %d: %+v", name, i, row.Rewards)
				}
			}
			for k, m := range row.Messages {
				x := w.Messages[k]
				sum := 0.0
				for _, p := range m.Logprobs {
					sum += float64(p)
				}
				if m.Role != x.Role || m.Content != x.Content || m.Sampled != x.Sampled || len(m.Logprobs) != x.Tokens ||
					m.ToolCallID != x.ToolCallID ||
					len(m.ToolCalls) != len(x.ToolCalls) || fmt.Sprintf("%.3f", sum) != fmt.Sprintf("%.3f", x.LogprobSum) {
					t.Errorf("%s: row %d: message %d is %+v, not %+v", name, i, k, m, x)
				}
			}
		}
	}
}

func TestFailedItemsHaveNoReward(t *testing.T) {
	data, err := os.ReadFile("testdata/made/items.json")
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for p := range foreigntest.All(Importer, importers.File{Name: "items.json", R: bytes.NewReader(data), Size: int64(len(data)),
		Companions: []importers.Companion{{Name: "x_output.json", Read: func() ([]byte, error) {
			return []byte(`{"eval_output_items":[{"id":"a_rep1","score":0.0},{"id":5,"score":0.5}]}`), nil
		}}}}) {
		for _, x := range p.Items {
			if x.Row.Status == outcomes.StatusFailed {
				failed++
				if x.Row.Reward != nil || !slices.Contains(outcomes.FailureClasses, x.Row.FailureClass) || x.Row.Error == "" {
					t.Errorf("%+v", x.Row)
				}
			}
		}
	}
	if failed != 4 {
		t.Errorf("%d failed rows", failed)
	}
}

// FuzzScores reads what evaluators write.
func FuzzScores(f *testing.F) {
	for _, path := range []string{files[1], "testdata/made/accuracy_output.json"} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	item := []byte(`{"id":"sum-1_rep0","generated_answer":"4","intermediate_steps":[]}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		c := importers.Companion{Name: "x_output.json", Read: func() ([]byte, error) { return data, nil }}
		for p, err := range foreigntest.All(Importer, importers.File{Name: "f.jsonl", R: bytes.NewReader(item), Size: int64(len(item)),
			Companions: []importers.Companion{c}}) {
			if err != nil {
				if !strings.Contains(err.Error(), "x_output.json") {
					t.Errorf("the error does not name the file: %v", err)
				}
				return
			}
			if p.Err != nil && strings.Contains(p.Err.Error(), "please report") {
				t.Error(p.Err)
			}
			for _, x := range p.Items {
				if !json.Valid([]byte(x.Row.Metadata)) && x.Row.Metadata != "" {
					t.Errorf("metadata %q", x.Row.Metadata)
				}
			}
		}
	})
}
