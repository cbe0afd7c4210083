package parquet

import (
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// waiting is a chunk that is written at the end of the file: its bytes, and runs
// of pages that stay in their files until then.
type waiting struct {
	own  []byte
	runs []run
	c    *chunk // reads and verifies the runs, and counts what they hold; nil for none
}

// newWaiting takes over a chunk.
func newWaiting(c *chunk) (w waiting) {
	w.own = append(append(make([]byte, 0, len(c.dictBytes)+c.body.Len()), c.dictBytes...), c.body.Bytes()...)
	if len(c.runs) == 0 {
		return w
	}
	w.c = &chunk{gathered: gathered{leaf: c.leaf}, enc: c.enc}
	w.runs = slices.Clone(c.runs)
	var bare, of *batch
	for i := range w.runs {
		r := &w.runs[i]
		if r.after += len(c.dictBytes); r.b != of {
			of, bare = r.b, &batch{f: r.b.f.bare, src: r.b.src, group: r.b.group, picks: []pick{{from: r.b.picks[0].from}}}
		}
		r.b = bare
	}
	return w
}

func (w *waiting) write(out func([]byte) error) error { return w.c.writeRuns(w.own, w.runs, out) }

// count adds what was read of runs to the chunk's entry in the footer.
func (w *waiting) count(m *format.ColumnMetaData) {
	if w.c != nil {
		m.NumValues += w.c.entries
		m.TotalUncompressedSize += w.c.inflated
		m.Statistics.NullCount += w.c.nulls
	}
}

// load reads the runs into memory, so that their files may be closed.
func (w *waiting) load() error {
	if len(w.runs) == 0 {
		return nil
	}
	var all []byte
	err := w.write(func(data []byte) error {
		all = append(all, data...)
		return nil
	})
	w.own, w.runs = all, nil
	return err
}

// load reads all runs of chunks that wait into memory.
func (t *tail) load() error {
	t.held = t.late
	for _, row := range t.light {
		for i := range row {
			if err := row[i].load(); err != nil {
				return err
			}
		}
	}
	return nil
}

// files returns those that have runs of chunks that wait.
func (t *tail) files() (files []*File) {
	for _, row := range t.light {
		for i := range row {
			for _, r := range row[i].runs {
				if len(files) == 0 || files[len(files)-1] != r.b.f {
					files = append(files, r.b.f)
				}
			}
		}
	}
	return files
}
