package parquet

import (
	"bytes"
	"io"
	"math"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
)

type counting struct {
	io.ReaderAt
	requests, bytes atomic.Int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.requests.Add(1)
	c.bytes.Add(int64(len(p)))
	return c.ReaderAt.ReadAt(p, off)
}

func fetch[T any](t *testing.T, data []byte, limit int64) (rows int64, src *counting) {
	t.Helper()
	src = &counting{ReaderAt: bytes.NewReader(data)}
	f, err := layout.Open(src, int64(len(data)), "x")
	if err != nil {
		t.Fatal(err)
	}
	f.Ahead = limit
	r, err := reader.NewReader[T](f, 0, f.Rows())
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]T, 100)
	for {
		n, err := r.Read(buf)
		rows += int64(n)
		if err == io.EOF {
			return rows, src
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFewColumnsTakeThreeRequests(t *testing.T) {
	_, data, f := epoch(t)
	rows, src := fetch[idReward](t, data, 32<<20)
	if n := src.requests.Load(); rows != f.Rows() || n > 3 {
		t.Errorf("%d rows of %d in %d requests", rows, f.Rows(), n)
	}
	type light struct {
		idReward
		TrajectoryID string                `parquet:"trajectory_id"`
		Status       string                `parquet:"status,dict"`
		Answer       string                `parquet:"answer,optional"`
		Rewards      []formats.NamedReward `parquet:"rewards,list"`
	}
	rows, src = fetch[light](t, data, 32<<20)
	if n := src.requests.Load(); rows != f.Rows() || n > 3 {
		t.Errorf("light leaves: %d rows of %d in %d requests", rows, f.Rows(), n)
	}
	if n := src.bytes.Load(); n > int64(len(data)) {
		t.Errorf("light leaves: %d bytes of %d", n, len(data))
	}
}

// TestFetchingAheadKeepsToItsLimit: the bytes in memory never exceed the limit,
// and a higher limit means fewer requests.
func TestFetchingAheadKeepsToItsLimit(t *testing.T) {
	_, data, f := epoch(t)
	before := int64(math.MaxInt64)
	for _, limit := range []int64{2 << 20, 4 << 20, 1 << 30} {
		src := &counting{ReaderAt: bytes.NewReader(data)}
		some, err := layout.Open(src, int64(len(data)), "x")
		if err != nil {
			t.Fatal(err)
		}
		some.Ahead = limit
		r, err := reader.NewReader[formats.Trajectory](some, 0, some.Rows())
		if err != nil {
			t.Fatal(err)
		}
		rows, most := int64(0), int64(0)
		for buf := make([]formats.Trajectory, 10); err == nil; {
			var n int
			n, err = r.Read(buf)
			rows += int64(n)
			_, most = r.Held()
		}
		requests := src.requests.Load()
		t.Logf("limit %d: %d requests, %d bytes of %d, at most %d held", limit, requests, src.bytes.Load(), len(data), most)
		if err != io.EOF || rows != f.Rows() || requests > before {
			t.Errorf("limit %d: %v; %d rows of %d; %d requests, and %d with less", limit, err, rows, f.Rows(),
				requests, before)
		}
		if most == 0 || most > limit*3/2 {
			t.Errorf("limit %d: %d bytes were held", limit, most)
		}
		before = requests
	}
}

// meeting is a source whose first read waits for the second.
type meeting struct {
	io.ReaderAt
	second chan struct{}
}

func (m *meeting) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		<-m.second
	} else {
		close(m.second)
	}
	return m.ReaderAt.ReadAt(p, off)
}

// TestRangesAreFetchedAtOnce: one after the other they would wait for ever.
func TestRangesAreFetchedAtOnce(t *testing.T) {
	data := make([]byte, 3*layout.MaxGap)
	f := &layout.File{Src: &meeting{bytes.NewReader(data), make(chan struct{})}, Ahead: 1 << 20}
	got, err := f.Fetch([]layout.Extent{{Off: 0, End: 10}, {Off: 2 * layout.MaxGap, End: 2*layout.MaxGap + 10}})
	if err != nil || len(got.Extents) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}
