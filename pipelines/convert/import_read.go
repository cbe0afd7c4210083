package convert

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// cut cuts a file into batches. It returns false when the import has ended.
func (o *ImportOptions) cut(ctx context.Context, file int, memory *semaphore.Weighted, todo, ordered chan<- *batch) bool {
	send := func(b *batch) bool {
		b.held = min(b.bytes, inWork)
		if memory.Acquire(ctx, b.held) != nil {
			return false
		}
		if b.done = make(chan struct{}); len(b.records) == 0 {
			b.done = nil
		} else {
			select {
			case todo <- b:
			case <-ctx.Done():
				return false
			}
		}
		select {
		case ordered <- b:
			return true
		case <-ctx.Done():
			return false
		}
	}
	b := &batch{file: file}
	content, err := o.Files[file].Open(ctx)
	if err == nil {
		defer content.Close() // read only: nothing is lost
		for r, bad := range o.Format.Records.All(importers.File{Name: o.Files[file].URI, R: content, Size: content.Size(),
			Companions: o.Files[file].companions(ctx), Options: &importers.Options{Map: o.Fields, Keep: o.Keep}}) {
			if bad != nil {
				err = bad
				break
			}
			b.records = append(b.records, r)
			if b.bytes += int64(len(r.Data) + len(r.Context)); b.bytes >= batchBytes || len(b.records) == batchRows {
				if !send(b) {
					return false
				}
				b = &batch{file: file}
			}
		}
	}
	if b.err = err; len(b.records) == 0 && err == nil {
		return true
	}
	return send(b)
}

// companions returns the companions of a file, to be read when they are needed.
func (f *File) companions(ctx context.Context) (out []importers.Companion) {
	for _, c := range f.Companions {
		out = append(out, importers.Companion{Name: Below(path.Dir(f.Name), c.Name), Read: func() ([]byte, error) { return c.read(ctx) },
			Head: func(limit int64) ([]byte, int64, error) { return c.head(ctx, limit) }})
	}
	return out
}

// Below returns the path of a file from a folder that holds it; "." is the one of all names.
func Below(folder, name string) string {
	if folder == "." {
		return name
	}
	return strings.TrimPrefix(name, folder+"/")
}

func (f *File) read(ctx context.Context) ([]byte, error) {
	data, size, err := f.head(ctx, importers.MaxDocument)
	if err == nil && size > importers.MaxDocument {
		return nil, fmt.Errorf("%q has %d bytes; at most %d MiB are read", f.URI, size, importers.MaxDocument>>20)
	}
	return data, err
}

func (f *File) head(ctx context.Context, limit int64) ([]byte, int64, error) {
	content, err := f.Open(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer content.Close() // read only: nothing is lost
	data, err := io.ReadAll(io.LimitReader(io.NewSectionReader(content, 0, content.Size()), limit))
	return data, content.Size(), err
}
