package foreign

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
)

// golden holds the fixture in every form that only export writes. The checks in
// testdata/consumers/exports read them with the software that they are for.
const golden = "../../testdata/consumers/exports/golden"

// TestGolden compares the files that only export writes with the golden ones,
// with the parts of rows that they leave out (_dropped.json).
func TestGolden(t *testing.T) {
	got := written(t)
	if *foreigntest.Update {
		rewrite(t, got)
	}
	there := 0
	err := filepath.WalkDir(golden, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		there++
		name, _ := filepath.Rel(golden, path)
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Equal(got[filepath.ToSlash(name)], want) {
			t.Errorf("%s differs (-update rewrites it)", name)
		}
		return nil
	})
	if err != nil || there != len(got) {
		t.Errorf("%d golden files, want %d: %v", there, len(got), err)
	}
}

func written(t *testing.T) map[string][]byte {
	t.Helper()
	var only []exporters.Format
	for _, f := range Exporters {
		if len(f.Exports) > 0 {
			only = append(only, f)
		}
	}
	files, dropped := map[string]*bytes.Buffer{}, map[string]map[string]int{}
	pass := exporters.NewPass(exporters.Exports(only), trainset.Choice{}, formats.Tables{}, exporters.Place{
		Begin: func(name string) (io.Writer, error) { files[name] = &bytes.Buffer{}; return files[name], nil },
		Put: func(folder, name string, data []byte) error {
			files[folder+name] = bytes.NewBuffer(bytes.Clone(data))
			return nil
		},
		Drop: func(f exporters.File, x *exporters.Item, part string) {
			if dropped[f.Name] == nil {
				dropped[f.Name] = map[string]int{}
			}
			dropped[f.Name][x.Rows[0].TrajectoryID+": "+part]++
		},
	})
	defer pass.Close()
	for _, group := range fixture() {
		if err := pass.Add(group, true); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string][]byte{}
	for _, w := range pass.Writers {
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	for name, file := range files {
		out[name] = file.Bytes()
	}
	var err error
	if out["_dropped.json"], err = json.MarshalIndent(dropped, "", "  "); err != nil {
		t.Fatal(err)
	}
	return out
}

func rewrite(t *testing.T, files map[string][]byte) {
	t.Helper()
	if err := os.RemoveAll(golden); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		path := filepath.Join(golden, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
