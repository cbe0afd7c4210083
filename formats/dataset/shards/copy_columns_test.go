package shards

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
)

// repeatable writes scores in row groups of 4096, 4096 and 8 rows.
func scored(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	s, err := Begin(t.Context(), uri, manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := NewTable[formats.Score](s, "", 0)
	for i := range 1025 {
		rows := make([]formats.Score, 8)
		for k := range rows {
			x := float64(i*k) / 7
			rows[k] = formats.Score{TrajectoryID: fmt.Sprintf("%d-%d", i, k), ExampleID: fmt.Sprintf("example %d", i), Generation: int32(k), Status: "ok",
				Reward: &x, Rewards: []formats.NamedReward{{Name: "x", Value: &x, Weight: 1}}}
		}
		if err := w.Write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.Commit(t.Context(), Outcome{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Sealed
}

// membersOf returns members for some scores, and the ends of their groups.
func membersOf(t *testing.T, scores *dataset.Dataset, first, n int64) (rows []formats.Member, ends []int) {
	t.Helper()
	all, err := dataset.ReadAll[formats.Score](t.Context(), scores, "", dataset.Range{First: first, Rows: n})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range all {
		rows = append(rows, formats.Member{TrajectoryID: s.TrajectoryID, ExampleID: s.ExampleID, GroupID: s.ExampleID + "@0", Generation: s.Generation,
			Status: s.Status, Reward: s.Reward, Rewards: s.Rewards, Advantage: s.Reward})
		if i%8 == 7 {
			ends = append(ends, i+1)
		}
	}
	return rows, ends
}

// repeating writes members for scores: some groups begin within a row group, so
// that what can be repeated after them begins in the middle of one.
func repeating(ctx context.Context, t *testing.T, scores *dataset.Dataset, uri string) *dataset.Dataset {
	t.Helper()
	s, err := Begin(ctx, uri, manifest.Spec{Stage: "group", Version: 1, Kind: schema.KindGroups}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := NewTable[formats.Member](s, "", 0)
	from := NewColumnSource(ctx, scores)
	defer from.Close()
	for at := int64(0); at < scores.Rows; {
		n := from.RowGroup(at)
		if at == 0 { // as a shard does that begins within a row group
			n = 0
		}
		if n > 0 {
			rows, ends := membersOf(t, scores, at, n)
			err = w.CopyColumns(ctx, from, at, rows, ends)
		} else {
			n = min(2048, scores.Rows-at)
			rows, ends := membersOf(t, scores, at, n)
			err = w.WriteGroups(ctx, rows, ends)
		}
		if err != nil {
			t.Fatal(err)
		}
		at += n
	}
	r, err := s.Commit(ctx, Outcome{})
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.Verify(ctx, r.Sealed); err != nil { // of all rows, as they are in the parts
		t.Error(err)
	}
	return r.Sealed
}

// Wherever the scores are, and whether their columns are copied, the dataset is
// the same.
func TestRepeat(t *testing.T) {
	ctx := t.Context()
	local := repeating(ctx, t, scored(t, filepath.Join(t.TempDir(), "score")), filepath.Join(t.TempDir(), "group"))
	if got, want := local.Parts[0].RowGroups, []int64{4096, 4096, 8}; !slices.Equal(got, want) {
		t.Errorf("row groups of %d rows, want %d", got, want)
	}
	mem := repeating(ctx, t, scored(t, memory(t)+"/score"), memory(t)+"/group")
	if len(mem.Parts) != 1 || mem.Parts[0].Digest != local.Parts[0].Digest {
		t.Errorf("parts %+v in memory, and %+v in files", mem.Parts, local.Parts)
	}
}

// A secret of this process that is in the scores is not copied.
func TestRepeatWithoutSecrets(t *testing.T) {
	set := &secret.Set{}
	set.Add("NAME", "example 700")
	ctx := secret.With(t.Context(), set)
	d := repeating(ctx, t, scored(t, filepath.Join(t.TempDir(), "score")), filepath.Join(t.TempDir(), "group"))
	rows, err := dataset.ReadAll[formats.Member](ctx, d, "", dataset.Range{First: 700 * 8, Rows: 8})
	if err != nil {
		t.Fatal(err)
	}
	if got := rows[0].ExampleID; got != "[redacted:NAME]" {
		t.Errorf("example %q", got)
	}
}

// Parts have as many row groups as other parts have at most.
func TestRepeatEndsParts(t *testing.T) {
	ctx, root := t.Context(), t.TempDir()
	scores := scored(t, filepath.Join(root, "score"))
	s, err := Begin(ctx, filepath.Join(root, "group"), manifest.Spec{Stage: "group", Version: 1, Kind: schema.KindGroups}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	from := NewColumnSource(ctx, scores)
	defer from.Close()
	w := NewTable[formats.Member](s, "", 0)
	rows, ends := membersOf(t, scores, 0, 4096)
	if err := w.Write(ctx, rows[:8]); err != nil {
		t.Fatal(err)
	}
	for range partGroups {
		if err := w.CopyColumns(ctx, from, 0, rows, ends); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.Commit(ctx, Outcome{})
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Sealed.Parts; len(p) != 2 || len(p[0].RowGroups) != partGroups || len(p[1].RowGroups) != 1 {
		t.Errorf("%d parts: %+v", len(p), p)
	}
}
