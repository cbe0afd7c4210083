package parquet

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// TestOpenFilesTakeLittleMemory: several are open at once, and a part of light
// rows has 9,000 chunks.
func TestOpenFilesTakeLittleMemory(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter[formats.Trajectory](&out)
	for _, group := range varied(40) {
		if err := errors.Join(w.Write(group), w.CutRowGroup()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	files := make([]*layout.File, 50)
	open := func() {
		for i := range files {
			files[i] = opened(t, out.Bytes())
		}
	}
	open() // what is made once for all files
	clear(files)
	before := live()
	open()
	each := (live() - before) / int64(len(files))
	f := files[0]
	chunks := int64(len(f.Meta.RowGroups) * len(f.Leaves))
	t.Logf("%d bytes for %d chunks in %d row groups", each, chunks, len(f.Meta.RowGroups))
	if most := 110*chunks + 64<<10; each > most {
		t.Errorf("a file of %d chunks takes %d bytes, more than %d", chunks, each, most)
	}
	runtime.KeepAlive(files)
	runtime.KeepAlive(&out)
}
