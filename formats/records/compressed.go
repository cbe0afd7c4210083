package records

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/rollmill/rollmill/storage/fault"
)

// inflaters read compressed files, by the last extension of their name.
var inflaters = map[string]func(io.Reader) (io.Reader, error){
	".gz": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	".zst": func(r io.Reader) (io.Reader, error) {
		// alone it needs no Close
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
	},
}

// Extension returns the extension of a path or URI, in lower case. That of a
// compressed file is the one before .gz or .zst.
func Extension(name string) string {
	base := plain(name)
	if compressed := path.Ext(base); inflaters[compressed] != nil {
		return path.Ext(strings.TrimSuffix(base, compressed))
	}
	return path.Ext(base)
}

// plain returns a name in lower case and without the query of a URI. A path may
// have a question mark.
func plain(name string) string {
	if strings.Contains(name, "://") {
		name, _, _ = strings.Cut(name, "?")
	}
	return strings.ToLower(name)
}

// inflate returns a reader of the content of a file with this name.
func inflate(name string, r *bufio.Reader) io.Reader {
	open := inflaters[path.Ext(plain(name))]
	if open == nil {
		return r
	}
	return &inflated{name: name, open: func() (io.Reader, error) { return open(r) }}
}

// inflated inflates a file, whose damage is an error that names it.
type inflated struct {
	name string
	open func() (io.Reader, error)
	r    io.Reader // nil before the first read
	err  error     // of an earlier read
}

func (f *inflated) Read(p []byte) (n int, err error) {
	if f.err != nil {
		return 0, f.err
	}
	begun := f.r != nil
	if !begun {
		f.r, err = f.open()
	}
	if err == nil {
		n, err = f.r.Read(p)
	}
	if errors.Is(err, io.EOF) && !begun {
		err = io.ErrUnexpectedEOF // readers take an error that wraps io.EOF for the end
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fault.Invalid(f.name, "it was cut short, or is not compressed as its name says", err,
			"it cannot be inflated")
	}
	f.err = err
	return n, err
}
