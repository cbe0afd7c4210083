package exporters

import (
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// Put writes one document of a folder. The bytes are the caller's again when it returns.
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
			x.Skip(noMessages)
			continue
		}
		var err error
		if d.buf, err = d.add(d.buf[:0], t, x); err != nil {
			return err
		}
		d.rows++
		d.size += int64(len(d.buf))
		if err := d.put(fileName(t.TrajectoryID)+d.extension, d.buf); err != nil {
			return err
		}
	}
	return nil
}

func (d *documents) Rows() int64 { return d.rows }

func (d *documents) Size() int64 { return d.size }

func (d *documents) Close() error { return nil }

const hexDigits = "0123456789abcdef"

// fileName returns an id as the name of a file: letters, digits and -_. stand
// for themselves, a dot not at the beginning; every other byte is ~ and two hex
// digits. Different ids have different names; on a disk that ignores case, those
// that differ in case only may collide, which Create reports.
func fileName(id string) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'~', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	if b.Len() == 0 {
		return "~"
	}
	return b.String()
}
