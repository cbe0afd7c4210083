package parquet

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats"
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
	f, err := Open(src, int64(len(data)), "x")
	if err != nil {
		t.Fatal(err)
	}
	f.FetchAhead(limit)
	r, err := NewReader[T](f, 0, f.Rows())
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

func TestFetchingAheadKeepsToItsLimit(t *testing.T) {
	_, data, f := epoch(t)
	for _, limit := range []int64{1, 1 << 20, 4 << 20, 1 << 30} {
		rows, src := fetch[formats.Trajectory](t, data, limit)
		if rows != f.Rows() {
			t.Errorf("limit %d: %d rows of %d", limit, rows, f.Rows())
		}
		t.Logf("limit %d: %d requests, %d bytes of %d", limit, src.requests.Load(), src.bytes.Load(), len(data))
	}
}
