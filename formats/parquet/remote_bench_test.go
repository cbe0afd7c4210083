package parquet

import (
	"bytes"
	"io"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
)

// distant is a store: each request takes 30 ms and then 60 ns a kilobyte of its
// connection (16 MB a second), as many connections as there are.
type distant struct{ counting }

func (d *distant) ReadAt(p []byte, off int64) (int, error) {
	time.Sleep(30*time.Millisecond + time.Duration(len(p))*60)
	return d.counting.ReadAt(p, off)
}

// remoteFile is 77 MB in three row groups.
func remoteFile(b *testing.B) []byte {
	groups, _ := wide()
	var group []formats.Trajectory
	for _, rows := range groups {
		group = append(group, rows...)
	}
	return fileOf(b, [][]formats.Trajectory{group, group, group})
}

// BenchmarkScanRemote reads all columns of a part with large row groups, and
// BenchmarkDownload its bytes with as many connections.
func BenchmarkScanRemote(b *testing.B) {
	data := remoteFile(b)
	b.SetBytes(int64(len(data)))
	src := &distant{counting{ReaderAt: bytes.NewReader(data)}}
	for b.Loop() {
		f, err := layout.OpenAhead(src, int64(len(data)), "bench", 48<<20)
		if err != nil {
			b.Fatal(err)
		}
		r, err := reader.NewReader[formats.Trajectory](f, 0, f.Rows())
		if err != nil {
			b.Fatal(err)
		}
		for buf := make([]formats.Trajectory, 64); err == nil; {
			_, err = r.Read(buf)
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(src.requests.Load())/float64(b.N), "requests")
	b.ReportMetric(float64(src.bytes.Load())/float64(b.N)/float64(len(data)), "bytes/size")
}

func BenchmarkDownload(b *testing.B) {
	data := remoteFile(b)
	b.SetBytes(int64(len(data)))
	src := &distant{counting{ReaderAt: bytes.NewReader(data)}}
	const each = 4 << 20
	for b.Loop() {
		var all errgroup.Group
		all.SetLimit(layout.AtOnce)
		for off := 0; off < len(data); off += each {
			all.Go(func() error {
				return layout.ReadAt(src, make([]byte, min(each, len(data)-off)), int64(off))
			})
		}
		if err := all.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}
