package shards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

const testSize = 1 << 20

// compactOnce compacts the dataset at a URI, over a store with a hook.

func compactOnce(ctx context.Context, uri string, size int64, o Options) (*dataset.Dataset, error) {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	if err != nil {
		return nil, err
	}
	if o.hook != nil {
		d.Bucket = d.Bucket.WithHook(o.hook)
	}
	return Compact(ctx, d, size)
}

func compacted(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	d, err := compactOnce(t.Context(), uri, testSize, Options{})
	check(t, err)
	return d
}

// surveyedAt surveys a dataset's folder for what was last written before a time.

func surveyedAt(t *testing.T, uri string, before time.Time) *seal.Folder {
	t.Helper()
	b, err := storage.Open(t.Context(), uri)
	check(t, err)
	all, err := b.ListAll(t.Context(), "")
	check(t, err)
	f, err := seal.Survey(t.Context(), b, all, before)
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	return f
}

// sameDataset compares all that a reader sees of two datasets.

func sameDataset(t *testing.T, a, b *dataset.Dataset) {
	t.Helper()
	if a.Fingerprint() != b.Fingerprint() || a.Identity != b.Identity || a.Generation() != b.Generation() {
		t.Errorf("the digest was %s, is %s", a.Fingerprint(), b.Fingerprint())
	}
	check(t, dataset.Verify(t.Context(), b))
	for n := 1; n < 8; n++ {
		for i := range n {
			x, err := a.Slice(t.Context(), i, n)
			check(t, err)
			if y, err := b.Slice(t.Context(), i, n); err != nil || x != y {
				t.Errorf("slice %d of %d was %v, is %v, %v", i, n, x, y, err)
			}
		}
	}
	for _, table := range a.TableNames() {
		switch {
		case table == "" && a.Kind == schema.KindTrajectories:
			sameTable[formats.Trajectory](t, a, b, table)
		case table == "":
			sameTable[formats.Score](t, a, b, table)
		default:
			sameTable[formats.GroupStats](t, a, b, table)
		}
	}
}

func sameTable[T any](t *testing.T, a, b *dataset.Dataset, table string) {
	t.Helper()
	rows := func(d *dataset.Dataset) []T {
		all := dataset.Range{First: 0, Rows: d.Rows}
		if table != "" {
			all.Rows = d.Tables[table].Rows
		}
		out, err := dataset.ReadAll[T](t.Context(), d, table, all)
		check(t, err)
		return out
	}
	if before, after := rows(a), rows(b); !reflect.DeepEqual(before, after) {
		t.Errorf("table %q has other rows: %d, then %d", table, len(before), len(after))
	}
}

// dealt writes a dataset of random rows in shards: trajectories, or scores with a

// further table. Some shards have no rows.

func dealt(t *testing.T, uri string, seed int64, wide bool, of int, size int64) *dataset.Dataset {
	t.Helper()
	spec := manifest.Spec{Stage: "any", Kind: schema.KindTrajectories}
	if !wide {
		spec.Kind = schema.KindScores
	}
	dice, groups, row := rand.New(rand.NewPCG(uint64(seed), 1)), 0, int64(0)
	for i := range of {
		s, err := Begin(t.Context(), uri, spec, Options{Shard: i, Of: of, partSize: size})
		check(t, err)
		w, v, u := NewTable[formats.Trajectory], NewTable[formats.Score], NewTable[formats.GroupStats]
		n := dice.IntN(6)
		if wide {
			w := w(s, "", -1)
			for range n {
				check(t, w.Write(t.Context(),
					randomtest.Group(seed, groups, randomtest.Options{Generations: 1 + dice.IntN(4), SampledTokens: 40, PromptTokens: 40, Messages: 4})))
				groups++
			}
		} else {
			v, u := v(s, "", row), u(s, schema.TableGroups, -1)
			for rows := range randomtest.Scores(seed+int64(i), randomtest.Options{Groups: max(n, 1)}) {
				if n == 0 {
					break
				}
				row += int64(len(rows))
				check(t, v.Write(t.Context(), rows))
				check(t, u.Write(t.Context(), []formats.GroupStats{{GroupID: rows[0].ExampleID}}))
			}
		}
		_, err = s.Commit(t.Context(), Outcome{})
		check(t, err)
	}
	return open(t, uri)
}

// Compaction makes few parts of many and changes nothing else; again, it does

// nothing.

func TestCompactKeepsEveryRow(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		for seed := range int64(6) {
			if testing.Short() && seed > 2 {
				return // a wide one, a thin one and one of large rows
			}
			wide, uri := seed%2 == 0, sibling(uri, fmt.Sprint("-", seed))
			old := dealt(t, uri, seed, wide, 9, []int64{0, 1, 20_000}[seed%3])
			now := compacted(t, uri)
			for _, table := range old.TableNames() {
				if before, after := len(old.PartsOf(table)), len(now.PartsOf(table)); before < 9 || after != 1 {
					t.Errorf("table %q had %d parts, has %d", table, before, after)
				}
			}
			sameDataset(t, old, now)
			sameDataset(t, old, open(t, uri))
			before := keys(t, uri)
			if again := compacted(t, uri); again.Compacted == nil || !slices.Equal(before, keys(t, uri)) {
				t.Error("compacted twice:", keys(t, uri))
			}
			if thin := now.PartsOf("")[0].BaseFirst; (thin == nil) != wide {
				t.Error("the first row of the base is", thin)
			}
		}
	})
}

// Pages of heavy columns are copied: their bytes are in the new part as they were.

func TestCompactCopiesPages(t *testing.T) {
	uri := memory(t)
	old := dealt(t, uri, 3, true, 8, 0)
	payload := NewPayload(t.Context(), old)
	defer payload.Close()
	first := int64(0)
	for _, p := range old.Parts {
		if ok, err := payload.Copyable(first, p.Rows); !ok || err != nil {
			t.Fatal(ok, err)
		}
		first += p.Rows
	}
	now := compacted(t, uri)
	if now.StoredBytes() >= old.StoredBytes() || now.Bytes != old.Bytes {
		t.Errorf("%d bytes were made of %d", now.StoredBytes(), old.StoredBytes())
	}
}

// Readers that opened the dataset before read on while it is compacted, sealed and

// pruned, until the grace since the compaction is over.

func TestCompactUnderReaders(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		old := dealt(t, uri, 1, true, 7, 1)
		compacted(t, uri)
		_, err := seal.Dataset(t.Context(), uri)
		check(t, err)
		f := surveyedAt(t, uri, time.Now().Add(-time.Minute))
		if len(f.Parts) != 0 {
			t.Errorf("parts that may be read are offered: %v", f.Parts)
		}
		check(t, f.Clean(t.Context()))
		sameDataset(t, old, old)
		if left, err := open(t, uri).Unnamed(t.Context()); len(left) != len(old.Parts) || err != nil {
			t.Error("readers of plain Parquet are not warned of", left, err)
		}

		f = surveyed(t, uri)
		if len(f.Parts) != len(old.Parts) {
			t.Errorf("%d old parts are offered of %d", len(f.Parts), len(old.Parts))
		}
		check(t, f.Clean(t.Context()))
		if left, err := open(t, uri).Unnamed(t.Context()); left != nil || err != nil {
			t.Error(left, err)
		}
		check(t, dataset.Verify(t.Context(), open(t, uri)))
		_, err = dataset.ReadAll[formats.Trajectory](t.Context(), old, "", old.All())
		invalid(t, err, "compacted since", "is gone")

		// A larger size replaces the parts of the first compaction.
		if _, err = compactOnce(t.Context(), uri, 2*testSize, Options{}); err != nil {
			t.Error(err)
		}
		check(t, pruneOnce(t.Context(), uri, Options{}))
		if left := keys(t, uri); len(left) != 1 {
			t.Errorf("%q is left of the pruned dataset", left)
		}
	})
}

// The parts of an earlier compaction are treated as those of the shards.

func TestCompactAgain(t *testing.T) {
	uri := memory(t)
	old := dealt(t, uri, 2, true, 12, 0)
	small, err := compactOnce(t.Context(), uri, 3*old.Parts[0].Bytes, Options{})
	check(t, err)
	large := compacted(t, uri)
	if a, b, c := len(old.Parts), len(small.PartsOf("")), len(large.PartsOf("")); a <= b || b <= c || c != 1 {
		t.Errorf("%d parts, then %d, then %d", a, b, c)
	}
	_, err = seal.Dataset(t.Context(), uri)
	check(t, err)
	for _, d := range []*dataset.Dataset{small, large} {
		sameDataset(t, old, d)
	}
	f := surveyed(t, uri)
	check(t, f.Clean(t.Context()))
	sameDataset(t, large, open(t, uri))
	if left := len(f.Parts); left != len(old.Parts)+len(small.PartsOf("")) {
		t.Errorf("%d parts were removed", left)
	}
}

// A process may be killed before any storage operation of a compaction. The rows

// are there, the next compaction succeeds, and after a prune only its parts are. On

// a disk and in a store it is every seventh operation, unless COUNT is set.

// What a killed compaction left is no running writer's once the next one is done,

// though both are of the same second: a prune need not wait.

// Which parts a compaction is writing, and which a killed one left, is said by the

// store's clock alone.

// Of several compactions at once one is kept, and the others leave nothing.

// A dataset that is replaced, pruned or judged again meanwhile.

// The shards of a later stage, some written before and some after a compaction of

// their input, cover each row once.

func TestCompactBetweenShardsOfALaterStage(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		base := dealt(t, uri, 8, true, 9, 1)
		out := sibling(uri, "-thin")
		for i := range 5 {
			if i == 2 {
				compacted(t, uri)
				check(t, surveyed(t, uri).Clean(t.Context()))
			}
			d := open(t, uri)
			s, err := Begin(t.Context(), out, thinSpec(d, out), Options{Shard: i, Of: 5})
			check(t, err)
			r, err := d.Slice(t.Context(), i, 5)
			check(t, err)
			w := NewTable[formats.Score](s, "", r.First)
			for row, err := range dataset.Each[formats.Trajectory](t.Context(), d, "", r) {
				check(t, err)
				check(t, w.Write(t.Context(), []formats.Score{{TrajectoryID: row.TrajectoryID, ExampleID: row.ExampleID}}))
			}
			_, err = s.Commit(t.Context(), Outcome{})
			check(t, err)
		}
		thin := compacted(t, out)
		check(t, dataset.Verify(t.Context(), thin))
		wide, err := thin.OpenBase(t.Context())
		check(t, err)
		if !wide.Is(thin.Base) || wide.RowsDigest != base.RowsDigest || len(thin.PartsOf("")) != 1 {
			t.Errorf("the base is %v", wide)
		}
		heads, err := dataset.NewHeadReader[formats.Trajectory](t.Context(), wide, wide.All())
		check(t, err)
		defer heads.Close()
		row := make([]formats.Trajectory, 1)
		for score, err := range dataset.Each[formats.Score](t.Context(), thin, "", thin.All()) {
			check(t, err)
			if _, err := heads.Read(row); err != nil || row[0].TrajectoryID != score.TrajectoryID {
				t.Fatalf("%s is beside %s, %v", score.TrajectoryID, row[0].TrajectoryID, err)
			}
		}
		if _, err := heads.Read(row); !errors.Is(err, io.EOF) {
			t.Error("rows are missing:", err)
		}
	})
}

// The manifest has a format that versions without compaction refuse, and this one refuses it

// if the field and the format do not go together.

func TestCompactedManifestIsRefusedByOlderVersions(t *testing.T) {
	uri := memory(t)
	dealt(t, uri, 1, true, 3, 0)
	d := compacted(t, uri)
	data := d.Encode()
	if !strings.Contains(string(data), `"format": "rollmill-dataset/2.1"`) {
		t.Errorf("%.200s", data)
	}
	for name, change := range map[string]func(m *manifest.Manifest){
		"the format":    func(m *manifest.Manifest) { m.Format = manifest.Format },
		"no compaction": func(m *manifest.Manifest) { m.Compacted = nil },
		"another table": func(m *manifest.Manifest) {
			m.Compacted.Tables = map[string][]manifest.Part{"_pairs": m.Compacted.Parts}
		},
		"fewer rows":          func(m *manifest.Manifest) { m.Compacted.Parts[0].Rows--; m.Compacted.Parts[0].RowGroups[0]-- },
		"a part of a shard":   func(m *manifest.Manifest) { m.Compacted.Parts = m.Parts },
		"a part of elsewhere": func(m *manifest.Manifest) { m.Compacted.Parts[0].Name = "../x.parquet" },
		"no time":             func(m *manifest.Manifest) { m.Compacted.At = time.Time{} },
	} {
		m, err := manifest.Decode(uri, data)
		check(t, err)
		change(m)
		if _, err := manifest.Decode(uri, m.Encode()); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
