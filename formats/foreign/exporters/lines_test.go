package exporters_test

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
)

// TestLinesKeepNoLargeBuffer checks that the files of one export do not each keep the
// memory of their largest line.
func TestLinesKeepNoLargeBuffer(t *testing.T) {
	x := &exporters.Item{Rows: []formats.Trajectory{{Answer: strings.Repeat("a", 16<<20)}}}
	open := exporters.Lines(func(x *exporters.Item) []string { return []string{x.Rows[0].Answer} })
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var sinks []exporters.Sink
	for range 8 {
		s := open(io.Discard)
		if err := s.Give(x); err != nil || s.Rows() != 1 {
			t.Fatal(s.Rows(), err)
		}
		sinks = append(sinks, s)
	}
	runtime.GC()
	runtime.GC() // encoding/json keeps its buffer for one more
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 40<<20 {
		t.Errorf("%d files keep %d MB", len(sinks), kept>>20)
	}
	runtime.KeepAlive(x)
	runtime.KeepAlive(sinks)
}
