package parquet

import "slices"

// waiting is a chunk that is written at the end of the file: its bytes, and runs
// of pages that stay in their files until then.
type waiting struct {
	own  []byte
	runs []run
	c    *chunk // reads and verifies the runs
}

// newWaiting takes over a chunk, and counts what its runs hold.
func newWaiting(c *chunk) (w waiting, err error) {
	w.own = append(append(make([]byte, 0, len(c.dictBytes)+c.body.Len()), c.dictBytes...), c.body.Bytes()...)
	if len(c.runs) == 0 {
		return w, nil
	}
	if err := c.write(func([]byte) error { return nil }); err != nil {
		return w, err
	}
	w.c = &chunk{gathered: gathered{leaf: c.leaf}, enc: c.enc}
	w.runs = slices.Clone(c.runs)
	for i := range w.runs {
		w.runs[i].after += len(c.dictBytes)
	}
	return w, nil
}

func (w *waiting) write(out func([]byte) error) error { return w.c.writeRuns(w.own, w.runs, out) }

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
	w.own, w.runs, w.c = all, nil, nil
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
