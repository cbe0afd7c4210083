package exporters

import "github.com/rollmill/rollmill/formats"

// Put writes one document of a folder. The bytes are the caller's again when it
// returns.
type Put func(name string, data []byte) error

// Documents returns a function that begins a folder with a document for each
// trajectory with messages, named after its id. add appends the document.
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
		if len(t.Messages) == 0 {
			x.Skip(NoMessages)
			continue
		}
		var err error
		if d.buf, err = d.add(d.buf[:0], t, x); err != nil {
			return err
		}
		d.rows++
		d.size += int64(len(d.buf))
		if err := d.put(FileName(t.TrajectoryID)+d.extension, d.buf); err != nil {
			return err
		}
	}
	return nil
}

func (d *documents) Rows() int64  { return d.rows }
func (d *documents) Size() int64  { return d.size }
func (d *documents) Close() error { return nil }
