package exporters

import "github.com/rollmill/rollmill/formats"

// Put writes one document of a folder. The bytes are the caller's again when it
// returns.
type Put func(name string, data []byte) error

// Documents returns a function that begins a folder with a document for each
// trajectory, named after its id. add appends the document, or reports with
// x.Skip why there is none and returns dst unchanged.
func Documents(extension string, add func(dst []byte, t *formats.Trajectory, x *Item) ([]byte, error)) func(Put) Sink {
	return func(put Put) Sink { return &documents{put: put, add: add, extension: extension} }
}

type documents struct {
	put        Put
	add        func(dst []byte, t *formats.Trajectory, x *Item) ([]byte, error)
	extension  string
	buf        []byte
	rows, size int64
}

func (d *documents) Give(x *Item) error {
	for i := range x.Rows {
		t := &x.Rows[i]
		buf, err := d.add(d.buf[:0], t, x)
		if err != nil {
			return err
		}
		if d.buf = buf; len(buf) == 0 {
			continue
		}
		d.rows++
		d.size += int64(len(buf))
		if err := d.put(FileName(t.TrajectoryID)+d.extension, buf); err != nil {
			return err
		}
	}
	return nil
}

func (d *documents) Rows() int64  { return d.rows }
func (d *documents) Size() int64  { return d.size }
func (d *documents) Close() error { return nil }
