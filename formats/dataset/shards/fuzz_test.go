package shards

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// drained reads all rows of the main table, and returns the first error.
func drained[T any](ctx context.Context, d *dataset.Dataset) (rows []T, err error) {
	r, err := dataset.NewReader[T](ctx, d, "", d.All())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	buf := make([]T, 16)
	for {
		n, err := r.Read(buf)
		rows = append(rows, buf[:n]...)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
	}
}

// Whatever a manifest contains, opening and reading its dataset gives as many
// rows as it counts, or an error.
func FuzzManifest(f *testing.F) {
	ctx := context.Background()
	uri := memory(f) + "/d"
	s, err := Begin(ctx, uri, wideSpec(), Options{})
	if err != nil {
		f.Fatal(err)
	}
	t := NewTable[formats.Trajectory](s, "", 0)
	for e := range 2 {
		if err := t.Write(ctx, group(e, 2)); err != nil {
			f.Fatal(err)
		}
	}
	if _, err := s.Commit(ctx, Outcome{}); err != nil {
		f.Fatal(err)
	}
	b, err := storage.Open(ctx, uri)
	if err != nil {
		f.Fatal(err)
	}
	good, err := b.Read(ctx, manifest.FileName)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"format":"` + manifest.Format + `","schema":"` + schema.Version + `"}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := b.Write(ctx, manifest.FileName, data); err != nil {
			t.Fatal(err)
		}
		d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
		if err != nil {
			if !strings.Contains(err.Error(), uri) {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		if rows, err := drained[formats.Trajectory](ctx, d); err == nil && int64(len(rows)) != d.Rows {
			t.Fatalf("%d rows; the manifest counts %d", len(rows), d.Rows)
		}
		for i := range 3 {
			if r, err := d.Slice(ctx, i, 3); err == nil && (r.First < 0 || r.Rows < 0 || r.First+r.Rows > d.Rows) {
				t.Fatalf("slice %d of 3 is %+v of %d rows", i, r, d.Rows)
			}
		}
	})
}

// Whatever bytes a segment has, a journal yields rows or an error that names
// the segment.
func FuzzSegment(f *testing.F) {
	ctx := context.Background()
	uri := memory(f) + "/d"
	s, err := Begin(ctx, uri, wideSpec(), Options{})
	if err != nil {
		f.Fatal(err)
	}
	j, err := journals.Open[formats.Trajectory](ctx, s.Journal())
	if err != nil {
		f.Fatal(err)
	}
	if err := j.Append(ctx, group(0, 2)); err != nil {
		f.Fatal(err)
	}
	segments, err := j.Bucket.ListAll(ctx, j.Folder)
	if err != nil || len(segments) != 1 {
		f.Fatal(segments, err)
	}
	key := segments[0].Key
	good, err := j.Bucket.Read(ctx, key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := j.Bucket.Write(ctx, key, data); err != nil {
			t.Fatal(err)
		}
		n := 0
		for row, err := range j.Rows(ctx) {
			if err != nil {
				if !strings.Contains(err.Error(), key[strings.LastIndexByte(key, '/')+1:]) {
					t.Fatalf("an error without a place: %v", err)
				}
				return
			}
			if n++; row == nil {
				t.Fatal("no row and no error")
			}
		}
		if bytes.Equal(data, good) && n != 2 {
			t.Fatalf("%d rows of 2", n)
		}
	})
}

// Whatever a shard's record contains, sealing its dataset gives one with as
// many rows as it counts, or an error that names it.
func FuzzRecord(f *testing.F) {
	ctx := context.Background()
	uri := memory(f) + "/d"
	var s *Shard
	for i := range 2 {
		var err error
		if s, err = Begin(ctx, uri, wideSpec(), Options{Shard: i, Of: 2}); err != nil {
			f.Fatal(err)
		}
		if err := NewTable[formats.Trajectory](s, "", 0).Write(ctx, group(i, 2)); err != nil {
			f.Fatal(err)
		}
		if _, err := s.Commit(ctx, Outcome{}); err != nil {
			f.Fatal(err)
		}
	}
	b, err := storage.Open(ctx, uri)
	if err != nil {
		f.Fatal(err)
	}
	key := s.build.Record(1)
	good, err := b.Read(ctx, key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(bytes.ReplaceAll(good, []byte(`"rows": 2`), []byte(`"rows": 3`)))
	f.Add([]byte(`{"format":"` + manifest.Format + `"}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := b.Delete(ctx, manifest.FileName); err != nil && !errors.Is(err, storage.ErrNotExist) {
			t.Fatal(err)
		}
		if err := b.Write(ctx, key, data); err != nil {
			t.Fatal(err)
		}
		var d *dataset.Dataset
		_, err := seal.Dataset(ctx, uri)
		if err == nil {
			d, err = dataset.Open(ctx, uri, dataset.OpenOptions{})
		}
		if err != nil {
			if !strings.Contains(err.Error(), uri) {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		if rows, err := drained[formats.Trajectory](ctx, d); err == nil && int64(len(rows)) != d.Rows {
			t.Fatalf("%d rows; the manifest counts %d", len(rows), d.Rows)
		}
	})
}
