package parquet

import (
	"bytes"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
)

// slow is a store as distant is, with a row group a tenth as large and
// connections as much slower.
type slow struct{ counting }

func (s *slow) ReadAt(p []byte, off int64) (int, error) {
	time.Sleep(30*time.Millisecond + time.Duration(len(p))*400)
	return s.counting.ReadAt(p, off)
}

// byItsClock runs f with a clock that moves only while all of f's goroutines
// sleep or wait: what it measures is the same on any machine. Decoders have
// channels, which must not leave it.
func byItsClock(t *testing.T, f func(t *testing.T)) {
	forget := func() { // what pools keep
		runtime.GC()
		runtime.GC()
	}
	forget()
	defer forget()
	synctest.Test(t, f)
}

const (
	slowLimit = 6 << 20
	slowPiece = slowLimit / 12
	slowRow   = 100 * time.Microsecond // to decode it
)

// download reads all bytes of files.
func download(t *testing.T, files ...*slow) time.Duration {
	from := time.Now()
	var all errgroup.Group
	all.SetLimit(layout.AtOnce)
	for _, src := range files {
		size := src.ReaderAt.(*bytes.Reader).Size()
		for off := int64(0); off < size; off += slowPiece {
			all.Go(func() error { return layout.ReadAt(src, make([]byte, min(slowPiece, size-off)), off) })
		}
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
	return time.Since(from)
}

// TestAScanTakesAsLongAsADownload, but for the request for the footer: it keeps
// as many requests under way, although a row group is most of its memory.
func TestAScanTakesAsLongAsADownload(t *testing.T) {
	data := large()
	byItsClock(t, func(t *testing.T) {
		src := &slow{counting{ReaderAt: bytes.NewReader(data)}}
		plain := download(t, src)
		src.requests.Store(0)
		f := openSlow(t, src)
		from := time.Now()
		r := readSlow(t, f, nil)
		scan, requests := time.Since(from), src.requests.Load()
		_, most := r.Held()
		t.Logf("%s, and %s to download %d bytes; %d requests; at most %d held", scan, plain, len(data), requests,
			most)
		if scan > plain*5/4 {
			t.Errorf("%s, and %s to download it", scan, plain)
		}
		if most := int64(len(data))/slowPiece*2 + 1; requests > most {
			t.Errorf("%d requests; more than %d", requests, most)
		}
		if most > slowLimit*11/10 {
			t.Errorf("%d bytes were held", most)
		}
	})
}

// TestPartsAreFetchedAhead: reading five files, each opened before its turn, one
// waits for the first rows of the first file only.
func TestPartsAreFetchedAhead(t *testing.T) {
	const parts = 5
	data := large()
	byItsClock(t, func(t *testing.T) {
		var src [parts]*slow
		var files [parts]*layout.File
		for i := range src {
			src[i] = &slow{counting{ReaderAt: bytes.NewReader(data)}}
			files[i] = openSlow(t, src[i])
		}
		plain := download(t, src[:]...)
		from := time.Now()
		var readers [parts]*reader.Reader[formats.Trajectory]
		for i := range files {
			var err error
			if readers[i], err = reader.NewReader[formats.Trajectory](files[i], 0, files[i].Rows()); err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				readers[i-1].PrefetchNext(func() reader.Follower { return readers[i] })
			}
		}
		for i, r := range readers {
			readSlow(t, files[i], r)
			r.Close()
		}
		now, most := readers[0].Held()
		scan := time.Since(from)
		t.Logf("%s, and %s to download %d files; at most %d held", scan, plain, parts, most)
		if scan > plain*6/5 {
			t.Errorf("%s, and %s to download them", scan, plain)
		}
		if most > slowLimit*11/10 || now != 0 {
			t.Errorf("%d bytes were held, and %d at the end", most, now)
		}
	})
}

func openSlow(t *testing.T, src *slow) *layout.File {
	t.Helper()
	f, err := layout.OpenAhead(src, src.ReaderAt.(*bytes.Reader).Size(), "x", slowLimit)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readSlow reads all rows of a file, with a reader or a new one.
func readSlow(t *testing.T, f *layout.File, r *reader.Reader[formats.Trajectory]) *reader.Reader[formats.Trajectory] {
	t.Helper()
	if r == nil {
		var err error
		if r, err = reader.NewReader[formats.Trajectory](f, 0, f.Rows()); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := 0, error(nil)
	for buf := make([]formats.Trajectory, 8); err == nil; {
		var n int
		n, err = r.Read(buf)
		rows += n
		time.Sleep(time.Duration(n) * slowRow)
	}
	if err != io.EOF || int64(rows) != f.Rows() {
		t.Fatalf("%d rows of %d: %v", rows, f.Rows(), err)
	}
	return r
}
