package shards

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

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
	_, err = dataset.ReadAll[formats.Trajectory](ctx, d, "", d.All())
	invalid(t, err, d.Parts[0].Name, "bytes; the manifest says")

	flipped := slices.Clone(whole)
	flipped[len(flipped)/3] ^= 0xff
	damage(flipped)
	_, err = dataset.ReadAll[formats.Trajectory](ctx, d, "", d.All())
	invalid(t, err, d.Parts[0].Name, "damaged page")
	invalid(t, dataset.Verify(ctx, d), d.Parts[0].Name, "digest")

	if err := os.Remove(part); err != nil {
		t.Fatal(err)
	}
	_, err = dataset.ReadAll[formats.Trajectory](ctx, d, "", d.All())
	invalid(t, err, d.Parts[0].Name, "gone")
}

func TestVolatileColumnsDoNotCount(t *testing.T) {
	root := memory(t)
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
	same := digest(root+"/a", func(*formats.Trajectory) {})
	if got := digest(root+"/b", func(r *formats.Trajectory) {
		r.StartedAt, r.FinishedAt, r.Attempts, r.Calls[0].LatencyMS, r.Calls[0].Endpoint = 1, 2, 3, 4, "http://other"
	}); got != same {
		t.Error("volatile columns changed the rows digest")
	}
	if got := digest(root+"/c", func(r *formats.Trajectory) { r.Messages[1].Logprobs[0] = -0.25 }); got == same {
		t.Error("a log probability did not change the rows digest")
	}
}

func TestUnsupportedVersions(t *testing.T) {
	uri := memory(t) + "/d"
	ctx := context.Background()
	b, err := storage.Open(ctx, uri)
	if err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{
		`{"format":"rollmill-dataset/3","dataset":{"schema":"2.0"}}`:                                      `format "rollmill-dataset/3"`,
		`{"format":"rollmill-dataset/1","schema":"1.1","kind":"scores"}`:                                  `format "rollmill-dataset/1"`,
		`{"format":"rollmill-dataset/2","dataset":{"schema":"3.0"}}`:                                      `schema version "3.0"`,
		`{"format":"rollmill-dataset/2","dataset":{"schema":"2.0","parts":[{"name":"../../x.parquet"}]}}`: "x.parquet",
		`[]`: "not a manifest",
	} {
		if err := b.Write(ctx, manifest.FileName, []byte(text)); err != nil {
			t.Fatal(err)
		}
		_, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
		invalid(t, err, says)
		_, err = Begin(ctx, uri, wideSpec(), Options{})
		invalid(t, err, says)
	}
	if err := b.Write(ctx, manifest.FileName, []byte(`{"format":"rollmill-dataset/2","dataset":{"schema":"2.9","kind":"scores","new":1},"newer":1}`)); err != nil {
		t.Fatal(err)
	}
	if d := open(t, uri); d.Schema != "2.9" {
		t.Error("a newer minor version is not read")
	}
	_, err = dataset.Open(ctx, uri, dataset.OpenOptions{Kind: schema.KindGroups})
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
		rows, err := dataset.ReadAll[formats.Trajectory](ctx, d, "", dataset.Range{First: 3, Rows: 15})
		if err != nil || len(rows) != 15 || rows[0].ExampleID != "ex-0" || rows[14].ExampleID != "ex-4" {
			t.Fatal(len(rows), err)
		}
		if err := dataset.Verify(ctx, d); err != nil {
			t.Error(err)
		}
	})
}

// Light chunks are held in memory until their part ends, so their number is
// limited.
func TestPartsEndBeforeTheyFillTheMemory(t *testing.T) {
	uri := memory(t) + "/d"
	s, err := Begin(t.Context(), uri, wideSpec(), Options{partHeld: 4000})
	if err != nil {
		t.Fatal(err)
	}
	w := NewTable[formats.Trajectory](s, "", -1)
	for e := range 60 {
		if err := w.Write(t.Context(), group(e, 4)); err != nil {
			t.Fatal(err)
		}
		if err := w.EndRowGroup(); err != nil {
			t.Fatal(err)
		}
		if w.w != nil && w.w.Deferred() > 8000 { // a row group more, until the next row
			t.Fatalf("%d bytes wait", w.w.Deferred())
		}
	}
	if _, err := s.Commit(t.Context(), Outcome{Counts: map[string]int64{"ok": 240}}); err != nil {
		t.Fatal(err)
	}
	if d := open(t, uri); len(d.Parts) < 10 || d.Rows != 240 {
		t.Errorf("%d parts, %d rows", len(d.Parts), d.Rows)
	}
}

// A shard without rows still has a part, so that readers of plain Parquet find
// columns.
func TestNoRows(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		res := write(ctx, t, uri, wideSpec(), Options{}, 0)
		if res.Sealed == nil || len(res.Sealed.Parts) != 1 {
			t.Fatalf("%+v", res)
		}
		d := open(t, uri)
		rows, err := dataset.ReadAll[formats.Trajectory](ctx, d, "", d.All())
		if err != nil || len(rows) != 0 {
			t.Fatal(rows, err)
		}
		if r, err := d.Slice(ctx, 1, 3); err != nil || r != (dataset.Range{}) {
			t.Fatal(r, err)
		}
	})
}

func TestSlicesCoverEveryRowOnce(t *testing.T) {
	ctx := context.Background()
	for _, groups := range [][]int64{{}, {5}, {5, 5, 5}, {1, 100, 1, 1}, {3, 1, 4, 1, 5, 9, 2, 6}} {
		d := &dataset.Dataset{}
		starts := map[int64]bool{0: true}
		for _, rows := range groups {
			d.Parts = append(d.Parts, manifest.Part{Rows: rows, RowGroups: []int64{rows}})
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
