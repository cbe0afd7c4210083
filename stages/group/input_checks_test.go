package group_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestARepeatedTrajectoryIsRefused, whichever shard has it, and however little
// memory there is; files without one are grouped.
func TestARepeatedTrajectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	for name, examples := range map[string][]example{"a": {{"a", "1 0"}, {"b", "1 0 1"}}, "b": {{"c", "0 1"}},
		"again": {{"d", "0 1"}, {"b", "1 0"}, {"a", "1"}}} {
		s, err := shards.Begin(t.Context(), filepath.Join(dir, name), manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories},
			shards.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := shards.NewTable[formats.Trajectory](s, "", -1)
		for _, e := range examples {
			if err := w.Write(t.Context(), wide(e, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Commit(t.Context(), shards.Outcome{}); err != nil {
			t.Fatal(err)
		}
		parts, err := filepath.Glob(filepath.Join(dir, name, "part-*.parquet"))
		if err != nil || len(parts) != 1 {
			t.Fatal(parts, err)
		}
		data, err := os.ReadFile(parts[0])
		if err != nil {
			t.Fatal(err)
		}
		files := []string{"good/" + name + ".parquet", "all/" + name + ".parquet"}
		if name == "again" {
			files = []string{"once/again.parquet", "all/again.parquet"}
		}
		for _, file := range files {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755),
				os.WriteFile(filepath.Join(dir, file), bytes.Clone(data), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	o := options(filepath.Join(dir, "good/*.parquet"), filepath.Join(dir, "grouped"))
	o.Spill = stages.Spill{Dir: t.TempDir(), Memory: 1}
	if r, _ := run(t, o); r.Rows != 7 {
		t.Errorf("%d rows of files without a repeated trajectory", r.Rows)
	}
	// The files are all/a, all/again and all/b: rows 0 to 4, 5 to 9 and 10 to 11.
	o.In.URI = filepath.Join(dir, "all/*.parquet")
	for i, of := range []stages.Shard{{}, {Index: 0, Count: 2}, {Index: 1, Count: 2}} {
		o.Out = stages.Output{URI: filepath.Join(dir, "refused", string(rune('a'+i))), Shard: of}
		_, err := group.Run(t.Context(), o)
		var bad *fault.Error
		if !errors.As(err, &bad) || filepath.Base(bad.Place) != "again.parquet" || bad.Row != 2 || bad.Help == "" ||
			bad.What != `trajectory "`+formats.TrajectoryID("run", "b", 0, 0)+`" is in row 2 of "`+filepath.Join(dir, "all/a.parquet")+`" too` {
			t.Errorf("shard %v: %v", of, err)
		}
	}
}
