package parquet

import (
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// deferredChunk is a chunk that is written at the end of the file: its bytes, and
// ranges of pages that stay in their files until then.
type deferredChunk struct {
	own        []byte
	pageRanges []pageRange
	c          *chunk // reads and verifies the ranges, and counts what they hold; nil for none
}

// newDeferredChunk takes over a chunk.
func newDeferredChunk(c *chunk) (w deferredChunk) {
	w.own = append(append(make([]byte, 0, len(c.dictBytes)+c.body.Len()), c.dictBytes...), c.body.Bytes()...)
	if len(c.pageRanges) == 0 {
		return w
	}
	w.c = &chunk{columnBuffer: columnBuffer{Leaf: c.Leaf}, enc: c.enc}
	w.pageRanges = slices.Clone(c.pageRanges)
	var bare, of *batch
	for i := range w.pageRanges {
		r := &w.pageRanges[i]
		if r.after += len(c.dictBytes); r.batch != of {
			of = r.batch
			bare = &batch{f: of.f.WithoutMetadata(), src: of.src, rowGroup: of.rowGroup, ranges: []rowRange{{from: of.ranges[0].from}}}
		}
		r.batch = bare
	}
	return w
}

func (w *deferredChunk) write(out func([]byte) error) error {
	return w.c.writeRanges(w.own, w.pageRanges, out)
}

// count adds what was read of ranges to the chunk's entry in the footer.
func (w *deferredChunk) count(m *format.ColumnMetaData) {
	if w.c != nil {
		m.NumValues += w.c.entries
		m.TotalUncompressedSize += w.c.inflated
		m.Statistics.NullCount += w.c.nulls
	}
}

// loadRanges reads the ranges into memory, so that their files may be closed.
func (w *deferredChunk) loadRanges() error {
	if len(w.pageRanges) == 0 {
		return nil
	}
	var all []byte
	err := w.write(func(data []byte) error {
		all = append(all, data...)
		return nil
	})
	w.own, w.pageRanges = all, nil
	return err
}

// loadDeferred reads all ranges of deferred chunks into memory.
func (t *fileWriter) loadDeferred() error {
	t.heldBytes = t.deferredBytes
	for _, row := range t.deferredChunks {
		for i := range row {
			if err := row[i].loadRanges(); err != nil {
				return err
			}
		}
	}
	return nil
}

// deferredFiles returns the files with ranges of deferred chunks.
func (t *fileWriter) deferredFiles() (files []*layout.File) {
	for _, row := range t.deferredChunks {
		for i := range row {
			for _, r := range row[i].pageRanges {
				if len(files) == 0 || files[len(files)-1] != r.batch.f {
					files = append(files, r.batch.f)
				}
			}
		}
	}
	return files
}
