package harbor

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/storage/fault"
)

// attempts returns the rows of attempts at tasks, by their fields.
func attempts(t *testing.T, run string, of ...Fields) (out []formats.Trajectory) {
	t.Helper()
	for _, f := range of {
		example, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, formats.Trajectory{Run: run, ExampleID: f.ID, Example: string(example)})
	}
	return out
}

// exported returns the manifest of rows, its number of tasks, and what became of the others.
func exported(t *testing.T, rows []formats.Trajectory) (text string, tasks int64, others map[string]int) {
	t.Helper()
	var file bytes.Buffer
	sink := Exporter.Other(&file)
	others = map[string]int{}
	count := func(reason string) { others[reason]++ }
	for i := range rows {
		if err := sink.Give(&exporters.Item{Rows: rows[i : i+1], Skip: count, Drop: count}); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	return file.String(), sink.Rows(), others
}

// someTasks copies the tasks of testdata, and returns their folder and their fields.
func someTasks(t *testing.T) (dir string, all []Fields) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../../testdata/harbor/tasks")); err != nil {
		t.Fatal(err)
	}
	folders, err := Find(dir)
	if err != nil || len(folders) < 2 {
		t.Fatal(folders, err)
	}
	for _, folder := range folders {
		task, err := Read(folder)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, task.Fields())
	}
	return dir, all
}

// TestManifest: a manifest lists each task of some rows once, in their order, and its
// file means these tasks.
func TestManifest(t *testing.T) {
	dir, all := someTasks(t)
	last := all[len(all)-1]
	older := Fields{ID: all[0].ID, Digest: strings.Repeat("0", 64)}
	rows := attempts(t, "../my  run", last, all[0], last, Fields{ID: "org/x"}, Fields{ID: "x", Digest: last.Digest}, older,
		Fields{ID: "org/x..y", Digest: last.Digest}, Fields{ID: "-org/x", Digest: last.Digest}, all[0])
	rows = append(rows, formats.Trajectory{}, formats.Trajectory{Example: `{"id": 1}`})
	text, n, others := exported(t, rows)
	want := "[dataset]\nname = \"rollmill/my-run\"\n"
	for _, f := range []Fields{last, all[0], older} {
		want += "\n[[tasks]]\nname = \"" + f.ID + "\"\ndigest = \"sha256:" + f.Digest + "\"\n"
	}
	if d := cmp.Diff(want, text); d != "" || n != 3 {
		t.Errorf("%d tasks, -want +got: %s", n, d)
	}
	unnamed := `a task whose name is not org/name (write [task] name = "org/name" in its task.toml, and roll out again)`
	if d := cmp.Diff(map[string]int{"no_harbor_task": 3, "no_org_name": 3, unnamed: 3}, others); d != "" {
		t.Errorf("-want +got: %s", d)
	}

	text, _, _ = exported(t, rows[:4])
	file := filepath.Join(dir, "dataset.toml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(dir, "write-file"))); err != nil { // another folder of it
		t.Fatal(err)
	}
	found, err := Find(file)
	if err != nil {
		t.Fatal(err)
	}
	var listed []Fields
	for _, folder := range found {
		task, err := Read(folder)
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, task.Fields())
	}
	slices.SortFunc(listed, func(a, b Fields) int { return strings.Compare(a.ID, b.ID) })
	if d := cmp.Diff([]Fields{all[0], last}, listed); d != "" {
		t.Errorf("-want +got: %s", d)
	}
}

// TestDatasetName: any run gives a name that Harbor takes.
func TestDatasetName(t *testing.T) {
	for run, want := range map[string]string{"": "tasks", "..": "tasks", "a/b c": "a-b-c", "A_1.b-c": "A_1.b-c", "a...b": "a-b", "_é": "tasks"} {
		text, _, _ := exported(t, attempts(t, run, Fields{ID: "org/x", Digest: strings.Repeat("0", 64)}))
		var m manifest
		if _, err := toml.Decode(text, &m); err != nil || m.Dataset.Name != "rollmill/"+want || !orgName.MatchString(m.Dataset.Name) {
			t.Errorf("%q: %+v, %v", run, m.Dataset, err)
		}
	}
}

// TestNotAsListed: a manifest that does not fit the folders below its own is an error,
// which names the task and what to do.
func TestNotAsListed(t *testing.T) {
	for says, change := range map[string]func(dir string, manifest *string) error{
		"no folder here has the task": func(dir string, _ *string) error { return os.RemoveAll(filepath.Join(dir, "fix-test")) },
		": DIR/fix-test": func(dir string, _ *string) error {
			return os.WriteFile(filepath.Join(dir, "fix-test", "tests", "new"), nil, 0o666)
		},
		`have the digest "x`: func(_ string, m *string) error { *m = strings.Replace(*m, "sha256:", "x", 1); return nil },
		`have the digest ""`: func(_ string, m *string) error {
			*m = regexp.MustCompile("digest.*").ReplaceAllString(*m, "")
			return nil
		},
		`task "rollmill/other" do not`: func(_ string, m *string) error {
			*m = strings.Replace(*m, "rollmill/fix-test", "rollmill/other", 1)
			return nil
		},
		"list of tasks: toml: line": func(_ string, m *string) error { *m += "[["; return nil },
		"no list of tasks":          func(_ string, m *string) error { *m = "[dataset]\nname = \"a/b\"\n"; return nil },
		`write-file": not a task`: func(dir string, _ *string) error {
			return os.WriteFile(filepath.Join(dir, "write-file", "task.toml"), []byte("["), 0o666)
		},
		"dataset.toml: no such file": func(dir string, m *string) error { *m = ""; return nil },
	} {
		dir, all := someTasks(t)
		text, _, _ := exported(t, attempts(t, "run", all...))
		err := change(dir, &text)
		file := filepath.Join(dir, "dataset.toml")
		if text != "" {
			err = errors.Join(err, os.WriteFile(file, []byte(text), 0o666))
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = Find(file)
		var input *fault.Error
		if !errors.As(err, &input) || !strings.Contains(err.Error(), strings.Replace(says, "DIR", dir, 1)) || input.Help == "" {
			t.Errorf("%s: %v", says, err)
		}
	}
}
