package parquet

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// large is a file of three row groups of 3 MB each, in chunks of up to 1 MB.
var large = sync.OnceValue(func() []byte {
	var group []formats.Trajectory
	for rows := range randomtest.Trajectories(3, randomtest.Options{Groups: 40, Scored: true}) {
		group = append(group, rows...)
	}
	var buf bytes.Buffer
	w := NewWriter[formats.Trajectory](&buf)
	for range 3 {
		if err := errors.Join(w.Write(group), w.flush()); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return buf.Bytes()
})

// rowsFrom reads rows of a file; ahead is 0 for a local one.
func rowsFrom[T any](t testing.TB, src io.ReaderAt, size, ahead, first, rows int64) ([]T, *reader.Reader[T]) {
	t.Helper()
	var f *layout.File
	var err error
	if ahead > 0 {
		f, err = layout.OpenAhead(src, size, "x", ahead)
	} else {
		f, err = layout.Open(src, size, "x")
	}
	if err != nil {
		t.Fatal(err)
	}
	if rows < 0 {
		rows = f.Rows()
	}
	r, err := reader.NewReader[T](f, first, rows)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]T, rows+1)
	n, err := r.Read(out)
	if err != io.EOF || int64(n) != rows {
		t.Fatalf("%d rows of %d: %v", n, rows, err)
	}
	return out[:n], r
}

// gate is a source that lets nothing through until so many requests wait.
type gate struct {
	counting
	wait  atomic.Int64
	open  chan struct{}
	first int64 // requests that pass
}

func (g *gate) ReadAt(p []byte, off int64) (int, error) {
	if g.requests.Load() >= g.first {
		if g.wait.Add(-1) == 0 {
			close(g.open)
		}
		<-g.open
	}
	return g.counting.ReadAt(p, off)
}

// TestLargeRowGroupsAreFetchedAhead: row groups that exceed the memory are read
// in pieces, several at once (else the gate never opens), and no byte twice.
func TestLargeRowGroupsAreFetchedAhead(t *testing.T) {
	data := large()
	const limit = 6 << 20
	src := &gate{counting: counting{ReaderAt: bytes.NewReader(data)}, open: make(chan struct{}), first: 1}
	src.wait.Store(layout.AtOnce)
	got, r := rowsFrom[formats.Trajectory](t, src, int64(len(data)), limit, 0, -1)
	if want, _ := rowsFrom[formats.Trajectory](t, bytes.NewReader(data), int64(len(data)), 0, 0,
		-1); !reflect.DeepEqual(got, want) {
		t.Error("other rows than from a local file")
	}
	size := int64(len(data))
	_, most := r.Held()
	t.Logf("%d requests, %d bytes of %d, at most %d held", src.requests.Load(), src.bytes.Load(), size, most)
	if n := src.requests.Load(); n > size/(limit/(9*layout.AtOnce/4))+10 {
		t.Errorf("%d requests for %d bytes", n, size)
	}
	if n := src.bytes.Load(); n > size*103/100 {
		t.Errorf("%d bytes were read of %d", n, size)
	}
	if most > limit*3/2 {
		t.Errorf("%d bytes were held", most)
	}
}

// buffers is a source that knows which of the memory it has filled is still used.
type buffers struct {
	counting
	mu     sync.Mutex
	filled []weak.Pointer[byte]
	sizes  []int64
}

func (b *buffers) ReadAt(p []byte, off int64) (int, error) {
	b.mu.Lock()
	b.filled, b.sizes = append(b.filled, weak.Make(&p[0])), append(b.sizes, int64(len(p)))
	b.mu.Unlock()
	return b.counting.ReadAt(p, off)
}

// used returns the bytes of all buffers but the footer's that are not garbage.
func (b *buffers) used() (sum int64) {
	runtime.GC()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.filled {
		if i > 0 && b.filled[i].Value() != nil {
			sum += b.sizes[i]
		}
	}
	return sum
}

// TestPassedBytesAreGarbage: within a row group, bytes that all columns have passed
// are referred to by nothing.
func TestPassedBytesAreGarbage(t *testing.T) {
	data := large()
	const limit = 6 << 20
	src := &buffers{counting: counting{ReaderAt: bytes.NewReader(data)}}
	f, err := layout.OpenAhead(src, int64(len(data)), "x", limit)
	if err != nil {
		t.Fatal(err)
	}
	r, err := reader.NewReader[formats.Trajectory](f, 0, f.Rows())
	if err != nil {
		t.Fatal(err)
	}
	most := int64(0)
	for rows := make([]formats.Trajectory, 20); err == nil; {
		_, err = r.Read(rows)
		most = max(most, src.used())
	}
	_, counted := r.Held()
	t.Logf("at most %d bytes of %d are used; %d counted", most, len(data), counted)
	if err != io.EOF || most == 0 || most > limit*11/10 {
		t.Errorf("%d bytes of requests are used, of a limit of %d: %v", most, limit, err)
	}
}

// TestSomeRowsOfLargeRowGroups: one request for the footer and the page indexes,
// and those for the pages at once.
func TestSomeRowsOfLargeRowGroups(t *testing.T) {
	data := large()
	all, _ := rowsFrom[formats.Trajectory](t, bytes.NewReader(data), int64(len(data)), 0, 0, -1)
	for _, c := range []struct{ first, rows int64 }{{0, 1}, {7, 1}, {311, 20}, {319, 2}, {100, 400}, {959, 1}} {
		src := &counting{ReaderAt: bytes.NewReader(data)}
		got, _ := rowsFrom[formats.Trajectory](t, src, int64(len(data)), 48<<20, c.first, c.rows)
		if !reflect.DeepEqual(got, all[c.first:c.first+c.rows]) {
			t.Errorf("rows %d to %d are others", c.first, c.first+c.rows)
		}
		if n := src.requests.Load(); n > 3 {
			t.Errorf("rows %d to %d: %d requests", c.first, c.first+c.rows, n)
		}
	}
}

// TestSomeRowsOfAFullRowGroup: the heavy chunks have 2 to 3 MB, and a few rows still
// cost at most two requests after the one for the footer.
func TestSomeRowsOfAFullRowGroup(t *testing.T) {
	var groups [][]formats.Trajectory
	for rows := range randomtest.Trajectories(1,
		randomtest.Options{Groups: 100, Scored: true, SampledTokens: 2000, PromptTokens: 500, Messages: 20}) {
		groups = append(groups, rows)
	}
	var buf bytes.Buffer
	w := NewWriter[formats.Trajectory](&buf)
	for _, rows := range groups {
		if err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all := flat(groups)
	for _, c := range []struct{ first, rows int64 }{{0, 1}, {200, 8}, {440, 8}, {791, 9}} {
		src := &counting{ReaderAt: bytes.NewReader(buf.Bytes())}
		got, _ := rowsFrom[formats.Trajectory](t, src, int64(buf.Len()), 48<<20, c.first, c.rows)
		sameRows(t, all[c.first:c.first+c.rows], got)
		t.Logf("rows %d to %d: %d requests, %d bytes of %d", c.first, c.first+c.rows, src.requests.Load(),
			src.bytes.Load(), buf.Len())
		if n := src.requests.Load(); n > 3 {
			t.Errorf("rows %d to %d: %d requests", c.first, c.first+c.rows, n)
		}
	}
}

// losing is a source whose later requests fail.
type losing struct {
	io.ReaderAt
	left atomic.Int64
}

var errLost = errors.New("connection lost")

func (f *losing) ReadAt(p []byte, off int64) (int, error) {
	if f.left.Add(-1) < 0 {
		return 0, errLost
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestAFailedPieceIsReported: rows before it are read, and the error is the
// source's.
func TestAFailedPieceIsReported(t *testing.T) {
	data := large()
	for _, requests := range []int64{1, 5, 20} {
		src := &losing{ReaderAt: bytes.NewReader(data)}
		src.left.Store(requests)
		f, err := layout.OpenAhead(src, int64(len(data)), "x", 2<<20)
		if err != nil {
			t.Fatal(err)
		}
		r, err := reader.NewReader[formats.Trajectory](f, 0, f.Rows())
		if err != nil {
			t.Fatal(err)
		}
		for rows := make([]formats.Trajectory, 50); err == nil; {
			_, err = r.Read(rows)
		}
		if !errors.Is(err, errLost) {
			t.Errorf("after %d requests: %v", requests, err)
		}
	}
}

// TestLightRowsHoldHalf: what is fetched ahead of light columns does not grow with
// the number of files that are read one after another.
func TestLightRowsHoldHalf(t *testing.T) {
	data := large()
	type row struct {
		ID     string   `parquet:"trajectory_id"`
		Reward *float64 `parquet:"reward,optional"`
		Answer string   `parquet:"answer"`
	}
	const limit = 1 << 20
	var total int64
	held := func(files int) (most int64) {
		readers := make([]*reader.Reader[row], files)
		for i := range readers {
			f, err := layout.OpenAhead(bytes.NewReader(data), int64(len(data)), "x", limit)
			if err != nil {
				t.Fatal(err)
			}
			total = f.Rows()
			f.Src = bytes.NewReader(data) // nothing is in memory already
			if readers[i], err = reader.NewReader[row](f, 0, f.Rows()); err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				readers[i-1].PrefetchNext(func() reader.Follower { return readers[i] })
			}
		}
		for _, r := range readers {
			rows := make([]row, total)
			if n, err := r.Read(rows); n < len(rows) {
				t.Fatal(n, err)
			}
			_, one := r.Held()
			most = max(most, one)
			r.Close()
		}
		return most
	}
	few, many := held(2), held(40)
	t.Logf("%d bytes were held of two files, %d of forty", few, many)
	if many > limit/2 || few*40 < limit {
		t.Errorf("%d bytes were held of two files, %d of forty; at most %d", few, many, limit/2)
	}
}
