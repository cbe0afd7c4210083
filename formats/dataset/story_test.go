package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

func keys(t *testing.T, uri string) []string {
	t.Helper()
	b, err := storage.Open(context.Background(), uri)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for o, err := range b.List(context.Background(), "") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o.Key)
	}
	return out
}

func open(t *testing.T, uri string) *Dataset {
	t.Helper()
	d, err := Open(context.Background(), uri, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// invalid checks that an error is about bad input and says all of this.
func invalid(t *testing.T, err error, says ...string) {
	t.Helper()
	if !errors.Is(err, formats.ErrInvalid) {
		t.Fatalf("not an input error: %v", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

func TestTwoShardsGiveTheRowsOfOne(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		one := write(ctx, t, uri+"-one", wideSpec(), Options{}, 9)
		first := write(ctx, t, uri, wideSpec(), Options{Shard: 1, Of: 2}, 9)
		if first.Sealed != nil || !slices.Equal(first.Missing, []int{0}) || first.Rows != 16 {
			t.Fatalf("the first of two shards: %+v", first)
		}
		second := write(ctx, t, uri, wideSpec(), Options{Shard: 0, Of: 2}, 9)
		if second.Sealed == nil || second.Missing != nil {
			t.Fatalf("the last shard: %+v", second)
		}
		if a, b := one.Sealed.RowsDigest, second.Sealed.RowsDigest; a != b {
			t.Errorf("rows digests %s and %s", a, b)
		}
		if err := Verify(ctx, open(t, uri)); err != nil {
			t.Error(err)
		}
	})
}

// A requeued shard and its zombie run to the end, one after the other.
func TestZombieChangesNothing(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		zombie, err := Begin(ctx, uri, wideSpec(), Options{Shard: 0, Of: 2})
		if err != nil {
			t.Fatal(err)
		}
		w := NewTable[formats.Trajectory](zombie, "", -1)
		other := group(0, 4)
		other[0].Messages[1].Content = "sampled anew by the zombie"
		if err := w.Write(ctx, other); err != nil {
			t.Fatal(err)
		}
		write(ctx, t, uri, wideSpec(), Options{Shard: 0, Of: 2}, 9)
		write(ctx, t, uri, wideSpec(), Options{Shard: 1, Of: 2}, 9)
		before, manifest := keys(t, uri), open(t, uri).Manifest
		res, err := zombie.Commit(ctx, Outcome{})
		if err != nil || !res.UpToDate || res.Rows != 20 || res.Sealed == nil {
			t.Fatalf("the zombie's commit: %+v, %v", res, err)
		}
		if after := keys(t, uri); !slices.Equal(before, after) {
			t.Errorf("the zombie left %v where there was %v", after, before)
		}
		if got := open(t, uri).Manifest; got.RowsDigest != manifest.RowsDigest {
			t.Error("the zombie changed the rows")
		}
		if err := Verify(ctx, open(t, uri)); err != nil {
			t.Error(err)
		}
	})
}

// A zombie with the very same rows must not take its replacement's parts along.
func TestZombieWithTheSameRows(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		zombie, err := Begin(ctx, uri, wideSpec(), Options{partSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		w := NewTable[formats.Trajectory](zombie, "", -1)
		for e := range 3 { // a part each, published at once
			if err := w.Write(ctx, group(e, 4)); err != nil {
				t.Fatal(err)
			}
		}
		write(ctx, t, uri, wideSpec(), Options{partSize: 1}, 3)
		if err := zombie.Discard(); err != nil {
			t.Fatal(err)
		}
		if err := Verify(ctx, open(t, uri)); err != nil {
			t.Error(err)
		}
	})
}

func TestMissingShardsAreNamed(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		_, err := Open(ctx, uri, OpenOptions{})
		if !errors.Is(err, storage.ErrNotExist) {
			t.Fatalf("nothing there: %v", err)
		}
		write(ctx, t, uri, wideSpec(), Options{Shard: 1, Of: 7}, 9)
		write(ctx, t, uri, wideSpec(), Options{Shard: 5, Of: 7}, 9)
		_, err = Open(ctx, uri, OpenOptions{})
		invalid(t, err, "shards 0, 2-4, 6 of 7 missing")
		_, err = Seal(ctx, uri)
		invalid(t, err, "shards 0, 2-4, 6 of 7 missing")
	})
}

// The records are the dataset: whoever comes first writes its manifest, and
// writes the same bytes.
func TestManifestIsAFunctionOfTheRecords(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		for i := range 3 {
			write(ctx, t, uri, wideSpec(), Options{Shard: i, Of: 3}, 9)
		}
		b, err := storage.Open(ctx, uri)
		if err != nil {
			t.Fatal(err)
		}
		want, err := b.Read(ctx, ManifestFile)
		if err != nil {
			t.Fatal(err)
		}
		for _, again := range []func() error{
			func() error { _, err := Open(ctx, uri, OpenOptions{}); return err },
			func() error { _, err := Seal(ctx, uri); return err },
			func() error { write(ctx, t, uri, wideSpec(), Options{Shard: 1, Of: 3}, 9); return nil },
		} {
			if err := b.Delete(ctx, ManifestFile); err != nil {
				t.Fatal(err)
			}
			if err := again(); err != nil {
				t.Fatal(err)
			}
			got, err := b.Read(ctx, ManifestFile)
			if err != nil || string(got) != string(want) {
				t.Fatalf("%v: manifest %s, not %s", err, got, want)
			}
		}
	})
}

func TestOverwrite(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		write(ctx, t, uri, wideSpec(), Options{}, 3)
		old := open(t, uri)
		spec := wideSpec()
		spec.Params = map[string]any{"generations": 8, "agent": "chat"}
		_, err := Begin(ctx, uri, spec, Options{})
		var exists *ExistsError
		if !errors.As(err, &exists) || !exists.Sealed || exists.Old != old.Identity || exists.New != spec.Identity() {
			t.Fatalf("another identity: %v", err)
		}
		for _, says := range []string{"generations was 4, is 8", `agent was not there, is "chat"`} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%q does not say %q", err, says)
			}
		}
		if !strings.Contains(exists.Hint(), "--overwrite") {
			t.Error(exists.Hint())
		}
		write(ctx, t, uri, spec, Options{Shard: 0, Of: 2, Overwrite: true}, 6)
		if got := open(t, uri); got.Identity != old.Identity {
			t.Error("the old dataset is gone before the new one is sealed")
		}
		write(ctx, t, uri, spec, Options{Shard: 1, Of: 2, Overwrite: true}, 6)
		d := open(t, uri)
		if d.Identity != spec.Identity() || d.Rows != 24 {
			t.Fatalf("after overwriting: %+v", d.Manifest)
		}
		for _, k := range keys(t, uri) {
			if strings.Contains(k, old.Identity) || k == old.Parts[0].Name {
				t.Errorf("%q is left of the old dataset", k)
			}
		}
		if err := Verify(ctx, d); err != nil {
			t.Error(err)
		}
	})
}

func TestUnsealedShardsOfAnotherIdentity(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		write(ctx, t, uri, wideSpec(), Options{Shard: 0, Of: 2}, 3)
		spec := wideSpec()
		spec.Params = map[string]any{"generations": 8}
		_, err := Begin(ctx, uri, spec, Options{})
		var exists *ExistsError
		if !errors.As(err, &exists) || exists.Sealed || !strings.Contains(err.Error(), "generations was 4, is 8") {
			t.Fatalf("shards of another identity: %v", err)
		}
		write(ctx, t, uri, spec, Options{Overwrite: true}, 3)
		if d := open(t, uri); d.Identity != spec.Identity() {
			t.Fatal("not overwritten")
		}
	})
}

// Of two datasets begun at one URI, neither to overwrite, the first stands.
func TestTwoIdentitiesAtOnce(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		spec := wideSpec()
		spec.Params = map[string]any{"generations": 8}
		s, err := Begin(ctx, uri, spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := NewTable[formats.Trajectory](s, "", -1).Write(ctx, group(0, 8)); err != nil {
			t.Fatal(err)
		}
		write(ctx, t, uri, wideSpec(), Options{}, 3)
		var exists *ExistsError
		if _, err := s.Commit(ctx, Outcome{}); !errors.As(err, &exists) {
			t.Errorf("the second commit: %v", err)
		}
		if d := open(t, uri); d.Identity != wideSpec().Identity() {
			t.Error("the second replaced the first")
		}
		if err := Verify(ctx, open(t, uri)); err != nil {
			t.Error(err)
		}
	})
}

// The same dataset in another number of shards is the same dataset.
func TestAnotherNumberOfShards(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		late, err := Begin(ctx, uri, wideSpec(), Options{Shard: 0, Of: 3})
		if err != nil {
			t.Fatal(err)
		}
		w := NewTable[formats.Trajectory](late, "", -1)
		if err := w.Write(ctx, group(0, 4)); err != nil {
			t.Fatal(err)
		}
		write(ctx, t, uri, wideSpec(), Options{}, 3)
		res := write(ctx, t, uri, wideSpec(), Options{Shard: 4, Of: 5}, 3)
		if !res.UpToDate || res.Sealed == nil || res.Sealed.Shards != 1 {
			t.Fatalf("%+v", res)
		}
		if res, err := late.Commit(ctx, Outcome{}); err != nil || !res.UpToDate {
			t.Fatalf("%+v, %v", res, err)
		}
		for _, k := range keys(t, uri) {
			if strings.Contains(k, "-of-00003-") || strings.Contains(k, "-3/") {
				t.Errorf("%q is left", k)
			}
		}
	})
}

func TestGates(t *testing.T) {
	ctx := context.Background()
	limit := 0.5
	spec := wideSpec()
	spec.Gates = []Gate{{Name: "max-failure-rate", Count: "failed", Of: "rows", Max: &limit}}
	begin := func(t *testing.T, uri string, spec Spec, shard int) (*Shard, *TableWriter[formats.Trajectory]) {
		s, err := Begin(ctx, uri, spec, Options{Shard: shard, Of: 2})
		if err != nil {
			t.Fatal(err)
		}
		return s, NewTable[formats.Trajectory](s, "", -1)
	}
	places(t, func(t *testing.T, uri string) {
		s, w := begin(t, uri, spec, 0)
		if err := w.Write(ctx, group(0, 4)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(ctx, Outcome{Counts: map[string]int64{"failed": 4}}); err != nil {
			t.Fatal("a gate looked at one shard alone:", err)
		}
		s, w = begin(t, uri, spec, 1)
		if err := w.Write(ctx, group(1, 2)); err != nil {
			t.Fatal(err)
		}
		res, err := s.Commit(ctx, Outcome{Counts: map[string]int64{"ok": 2}})
		var gate *GateError
		if !errors.As(err, &gate) || res.Sealed == nil || res.Rows != 2 {
			t.Fatalf("%+v, %v", res, err)
		}
		if !strings.Contains(err.Error(), "failed is 0.6667, above 0.5") || !strings.Contains(gate.Hint(), "--accept-gate max-failure-rate") {
			t.Errorf("%v; %s", err, gate.Hint())
		}
		if _, err := Open(ctx, uri, OpenOptions{}); !errors.As(err, &gate) {
			t.Errorf("a refused dataset is read: %v", err)
		}
		if _, err := Open(ctx, uri, OpenOptions{AcceptGates: []string{"max-failure-rate"}}); err != nil {
			t.Error(err)
		}
		again, _ := begin(t, uri, spec, 0)
		if _, err := again.Commit(ctx, Outcome{}); !errors.As(err, &gate) {
			t.Errorf("the second run: %v", err)
		}
		higher := 0.7
		spec := spec
		spec.Gates = []Gate{{Name: "max-failure-rate", Count: "failed", Of: "rows", Max: &higher}}
		again, _ = begin(t, uri, spec, 0)
		if !again.UpToDate() {
			t.Error("a gate changed the identity")
		}
		if _, err := again.Commit(ctx, Outcome{}); err != nil {
			t.Errorf("with a higher limit: %v", err)
		}
		open(t, uri)
	})
}

func TestGateNumbers(t *testing.T) {
	limit := 3.0
	m := &Manifest{Rows: 10, Counts: map[string]int64{"ok": 4}, Drops: map[string]int64{"flat": 6}, Facts: map[string]float64{"groups": 2.5}}
	for _, c := range []struct {
		gate    Gate
		value   float64
		refused bool
	}{
		{Gate{Count: "rows", Min: &limit}, 10, false},
		{Gate{Count: "ok", Max: &limit}, 4, true},
		{Gate{Count: "flat", Of: "ok"}, 1.5, false},
		{Gate{Count: "groups", Min: &limit}, 2.5, true},
		{Gate{Count: "never seen", Min: &limit}, 0, true},
		{Gate{Count: "ok", Of: "never seen", Max: &limit}, 0, false},
	} {
		got := judge(m, []Gate{c.gate})[0]
		if got.Value != c.value || got.Refused != c.refused {
			t.Errorf("%+v: %v, refused %v", c.gate, got.Value, got.Refused)
		}
	}
}

func thinSpec(base *Dataset, from string) Spec {
	ref := base.Ref("base", from)
	return Spec{Stage: "score", Version: 1, Kind: formats.KindScores, Inputs: []Ref{ref}, Base: &ref}
}

func writeThin(t *testing.T, base *Dataset, uri string, of int) *Dataset {
	t.Helper()
	ctx := context.Background()
	for i := range of {
		s, err := Begin(ctx, uri, thinSpec(base, uri), Options{Shard: i, Of: of})
		if err != nil {
			t.Fatal(err)
		}
		r, err := base.Slice(ctx, i, of)
		if err != nil {
			t.Fatal(err)
		}
		w := NewTable[formats.Score](s, "", r.First)
		err = Groups(ctx, base, "", r, func(r *formats.Trajectory) string { return r.ExampleID }, func(first int64, rows []formats.Trajectory) error {
			var scores []formats.Score
			for _, r := range rows {
				scores = append(scores, formats.Score{TrajectoryID: r.TrajectoryID, ExampleID: r.ExampleID, Generation: r.Generation, Status: r.Status, Reward: r.Reward})
			}
			return w.Write(ctx, scores)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(ctx, Outcome{}); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, uri)
}

func TestThinRowsStandBesideTheirBase(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, root string) {
		for i := range 3 {
			write(ctx, t, storage.Join(root, "epoch-0", "rollout"), wideSpec(), Options{Shard: i, Of: 3}, 11)
		}
		base := open(t, storage.Join(root, "epoch-0", "rollout"))
		thin := writeThin(t, base, storage.Join(root, "epoch-0", "score"), 2)
		if thin.Base.URI != "../rollout" || thin.Rows != base.Rows {
			t.Errorf("base %q, %d rows", thin.Base.URI, thin.Rows)
		}
		back, err := thin.OpenBase(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if wide, err := back.OpenBase(ctx); err != nil || wide != back {
			t.Error("a wide dataset is its own base:", err)
		}
		if in, err := thin.OpenInput(ctx, "base"); err != nil || in.Identity != base.Identity {
			t.Error(err)
		}
		wide, err := ReadAll[formats.Trajectory](ctx, back, "", back.All())
		if err != nil {
			t.Fatal(err)
		}
		at := int64(0)
		for _, p := range thin.Parts {
			scores, err := ReadAll[formats.Score](ctx, thin, "", Range{at, p.Rows})
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range scores {
				if s.TrajectoryID != wide[*p.BaseFirst+int64(i)].TrajectoryID {
					t.Fatalf("row %d of %s stands beside another row", i, p.Name)
				}
			}
			at += p.Rows
		}
	})
}

func TestChangedBaseIsRefused(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, root string) {
		wide, thin := storage.Join(root, "rollout"), storage.Join(root, "score")
		write(ctx, t, wide, wideSpec(), Options{}, 5)
		d := writeThin(t, open(t, wide), thin, 1)

		spec := wideSpec()
		spec.Params = map[string]any{"generations": 5}
		write(ctx, t, wide, spec, Options{Overwrite: true}, 5)
		_, err := d.OpenBase(ctx)
		invalid(t, err, "score", "rollout", "changed")
		_, err = d.OpenInput(ctx, "base")
		invalid(t, err, "changed")

		b, err := storage.Open(ctx, wide)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys(t, wide) {
			if err := b.Delete(ctx, k); err != nil {
				t.Fatal(err)
			}
		}
		_, err = d.OpenBase(ctx)
		invalid(t, err, "score", "rollout", "gone")
	})
}

func TestMovedRootKeepsItsBase(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	write(ctx, t, filepath.Join(dir, "run", "rollout"), wideSpec(), Options{}, 5)
	writeThin(t, open(t, filepath.Join(dir, "run", "rollout")), filepath.Join(dir, "run", "score"), 1)
	if err := os.Rename(filepath.Join(dir, "run"), filepath.Join(dir, "archive")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, filepath.Join(dir, "archive", "score")).OpenBase(ctx); err != nil {
		t.Error(err)
	}
}

func TestDamagedParts(t *testing.T) {
	ctx := context.Background()
	uri := filepath.Join(t.TempDir(), "ds")
	write(ctx, t, uri, wideSpec(), Options{}, 40)
	d := open(t, uri)
	part := filepath.Join(uri, d.Parts[0].Name)
	whole, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(data []byte) {
		if err := os.WriteFile(part, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	damage(whole[:len(whole)-100])
	_, err = ReadAll[formats.Trajectory](ctx, d, "", d.All())
	invalid(t, err, d.Parts[0].Name, "bytes; the manifest says")

	flipped := slices.Clone(whole)
	flipped[len(flipped)/3] ^= 0xff
	damage(flipped)
	_, err = ReadAll[formats.Trajectory](ctx, d, "", d.All())
	invalid(t, err, d.Parts[0].Name, "checksum")
	invalid(t, Verify(ctx, d), d.Parts[0].Name, "digest")

	if err := os.Remove(part); err != nil {
		t.Fatal(err)
	}
	_, err = ReadAll[formats.Trajectory](ctx, d, "", d.All())
	invalid(t, err, d.Parts[0].Name, "gone")
}

func TestVolatileColumnsDoNotCount(t *testing.T) {
	ctx := context.Background()
	digest := func(uri string, change func(*formats.Trajectory)) formats.RowsDigest {
		s, err := Begin(ctx, uri, wideSpec(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		rows := group(0, 4)
		change(&rows[1])
		if err := NewTable[formats.Trajectory](s, "", -1).Write(ctx, rows); err != nil {
			t.Fatal(err)
		}
		res, err := s.Commit(ctx, Outcome{})
		if err != nil {
			t.Fatal(err)
		}
		return res.Sealed.RowsDigest
	}
	same := digest("mem://volatile/a", func(*formats.Trajectory) {})
	if got := digest("mem://volatile/b", func(r *formats.Trajectory) {
		r.StartedAt, r.FinishedAt, r.Attempts, r.Calls[0].LatencyMS, r.Calls[0].Endpoint = 1, 2, 3, 4, "http://other"
	}); got != same {
		t.Error("volatile columns changed the rows digest")
	}
	if got := digest("mem://volatile/c", func(r *formats.Trajectory) { r.Messages[1].Logprobs[0] = -0.25 }); got == same {
		t.Error("a log probability did not change the rows digest")
	}
}

func TestVersionsThatAreNotReadHere(t *testing.T) {
	ctx := context.Background()
	b, err := storage.Open(ctx, "mem://versions/d")
	if err != nil {
		t.Fatal(err)
	}
	for manifest, says := range map[string]string{
		`{"format":"rollmill-dataset/2","schema":"1.0"}`:                                      `format "rollmill-dataset/2"`,
		`{"format":"rollmill-dataset/1","schema":"2.0"}`:                                      `schema version "2.0"`,
		`{"format":"rollmill-dataset/1","schema":"1.0","parts":[{"name":"../../x.parquet"}]}`: "x.parquet",
		`[]`: "not a manifest",
	} {
		if err := b.Write(ctx, ManifestFile, []byte(manifest)); err != nil {
			t.Fatal(err)
		}
		_, err := Open(ctx, "mem://versions/d", OpenOptions{})
		invalid(t, err, says)
		_, err = Begin(ctx, "mem://versions/d", wideSpec(), Options{})
		invalid(t, err, says)
	}
	if err := b.Write(ctx, ManifestFile, []byte(`{"format":"rollmill-dataset/1","schema":"1.9","kind":"scores","new":1}`)); err != nil {
		t.Fatal(err)
	}
	if d := open(t, "mem://versions/d"); d.Schema != "1.9" {
		t.Error("a newer minor version is not read")
	}
	_, err = Open(ctx, "mem://versions/d", OpenOptions{Kind: formats.KindGroups})
	invalid(t, err, "holds scores, not groups")
}

func TestPartsRollOver(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		write(ctx, t, uri, wideSpec(), Options{partSize: 1}, 6)
		d := open(t, uri)
		if len(d.Parts) != 6 {
			t.Fatalf("%d parts", len(d.Parts))
		}
		rows, err := ReadAll[formats.Trajectory](ctx, d, "", Range{3, 15})
		if err != nil || len(rows) != 15 || rows[0].ExampleID != "ex-0" || rows[14].ExampleID != "ex-4" {
			t.Fatal(len(rows), err)
		}
		if err := Verify(ctx, d); err != nil {
			t.Error(err)
		}
	})
}

// A shard without rows still has a part: readers of plain Parquet find columns.
func TestNoRows(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		res := write(ctx, t, uri, wideSpec(), Options{}, 0)
		if res.Sealed == nil || len(res.Sealed.Parts) != 1 {
			t.Fatalf("%+v", res)
		}
		d := open(t, uri)
		rows, err := ReadAll[formats.Trajectory](ctx, d, "", d.All())
		if err != nil || len(rows) != 0 {
			t.Fatal(rows, err)
		}
		if r, err := d.Slice(ctx, 1, 3); err != nil || r != (Range{}) {
			t.Fatal(r, err)
		}
	})
}

func TestSlicesCoverEveryRowOnce(t *testing.T) {
	ctx := context.Background()
	for _, groups := range [][]int64{{}, {5}, {5, 5, 5}, {1, 100, 1, 1}, {3, 1, 4, 1, 5, 9, 2, 6}} {
		d := &Dataset{}
		starts := map[int64]bool{0: true}
		for _, rows := range groups {
			d.Parts = append(d.Parts, Part{Rows: rows, RowGroups: []int64{rows}})
			d.Rows += rows
			starts[d.Rows] = true
		}
		for n := 1; n < 12; n++ {
			at := int64(0)
			for i := range n {
				r, err := d.Slice(ctx, i, n)
				if err != nil || r.First != at || !starts[r.First] {
					t.Fatalf("%v: slice %d of %d is %+v, %v", groups, i, n, r, err)
				}
				at += r.Rows
			}
			if at != d.Rows {
				t.Fatalf("%v in %d slices: %d rows of %d", groups, n, at, d.Rows)
			}
		}
	}
}

func TestRefs(t *testing.T) {
	for _, c := range []struct{ from, to, ref string }{
		{"runs/a/epoch-0/score", "runs/a/epoch-0/rollout", "../rollout"},
		{"/data/a/epoch-1/curate", "/data/a/epoch-0/curate", "../../epoch-0/curate"},
		{"file:///data/a/score", "/data/a/rollout", "../rollout"},
		{"/data/a", "/mnt/b", "/mnt/b"},
		{"s3://key:secret@bucket/a/score", "s3://key:secret@bucket/a/rollout", "../rollout"},
		{"s3://other/a/score", "s3://key:secret@bucket/a/rollout", "s3://bucket/a/rollout"},
		{"mem://x/score?y=1", "mem://x/rollout?y=1", "../rollout"},
		{"/data/a", "s3://bucket/a", "s3://bucket/a"},
	} {
		d := &Dataset{uri: c.to}
		ref := d.Ref("base", c.from).URI
		if ref != c.ref {
			t.Errorf("%s from %s: %q, not %q", c.to, c.from, ref, c.ref)
		}
	}
	for _, c := range []struct{ uri, ref, to string }{
		{"/data/a/score", "../rollout", "/data/a/rollout"},
		{"mem://x/a/score?y=1", "../rollout", "mem://x/a/rollout?y=1"},
		{"s3://key:secret@bucket/a/score?region=r", "../rollout", "s3://key:secret@bucket/a/rollout?region=r"},
		{"/data/a/score", "s3://bucket/a", "s3://bucket/a"},
		{"file:///data/a/score", "../rollout", "/data/a/rollout"},
	} {
		if got := (&Dataset{uri: c.uri}).resolve(c.ref); got != c.to {
			t.Errorf("%s from %s: %q, not %q", c.ref, c.uri, got, c.to)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{Shard: 1}, {Shard: -1, Of: 2}, {Shard: 2, Of: 2}, {Of: -1}} {
		if _, err := Begin(context.Background(), "mem://options/d", wideSpec(), o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if got := numbers([]int{0, 1, 2, 5, 7, 8}); got != "0-2, 5, 7, 8" {
		t.Error(got)
	}
}

func TestShardEndsOnce(t *testing.T) {
	ctx := context.Background()
	s, err := Begin(ctx, "mem://once/d", wideSpec(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := NewTable[formats.Trajectory](s, "", -1)
	if NewTable[formats.Trajectory](s, "", -1).Write(ctx, group(0, 1)) == nil {
		t.Error("a table was opened twice")
	}
	if err := w.Write(ctx, group(0, 4)); err != nil {
		t.Fatal(err)
	}
	if err := s.Discard(); err != nil {
		t.Fatal(err)
	}
	if w.Write(ctx, group(0, 4)) == nil {
		t.Error("a discarded shard was written")
	}
	if _, err := s.Commit(ctx, Outcome{}); err == nil {
		t.Error("a discarded shard was committed")
	}
	if left := keys(t, "mem://once/d"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if fmt.Sprint(s.Identity()) != wideSpec().Identity() {
		t.Error(s.Identity())
	}
}
