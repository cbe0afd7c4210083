package dataset

import (
	"context"
	"sync"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/storage"
)

// ends keeps the ends of parts in an object store, with their footers, page
// indexes and often all light columns, so that reading again costs no request
// for them.
type ends struct {
	mu   sync.Mutex
	left int64 // bytes that may still be kept
	of   map[string][]byte
}

// KeepFooters makes the dataset keep what is read of its parts for their footers,
// half a megabyte of each, up to so many bytes in all. It is for whoever reads a
// few rows again and again. A dataset on a local disk keeps nothing.
func (d *Dataset) KeepFooters(bytes int64) {
	d.ends.mu.Lock()
	defer d.ends.mu.Unlock()
	if d.ends.of == nil {
		d.ends.of, d.ends.left = map[string][]byte{}, bytes
	}
}

// Warm reads the footers of a table that KeepFooters keeps, many at once.
func (d *Dataset) Warm(ctx context.Context, table string) error {
	if _, local := d.Bucket.Local(); local || d.plain != nil {
		return nil
	}
	parts := d.PartsOf(table)
	d.ends.mu.Lock()
	parts = parts[:min(len(parts), int(d.ends.left/endBytes))]
	d.ends.mu.Unlock()
	for _, err := range storage.InOrder(ctx, len(parts), storage.AtOnce, func(ctx context.Context, i int) (struct{}, error) {
		src, _, err := d.OpenPart(ctx, parts[i])
		if err == nil {
			err = src.Close()
		}
		return struct{}{}, err
	}) {
		if err != nil {
			return err
		}
	}
	return nil
}

const endBytes = 512 << 10 // what is read for a footer

// open opens a part, with its end if that was kept.
func (e *ends) open(src storage.Reader, p manifest.Part, place string) (*parquet.File, error) {
	e.mu.Lock()
	end := e.of[p.Name]
	e.mu.Unlock()
	if end != nil {
		return parquet.OpenAgain(src, p.Bytes, place, fetchAhead, end)
	}
	f, err := parquet.OpenAhead(src, p.Bytes, place, fetchAhead)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if end := f.End(); e.of != nil && e.of[p.Name] == nil && int64(len(end)) <= e.left {
		e.of[p.Name] = end
		e.left -= int64(len(end))
	}
	return f, nil
}

// footers keeps the footers of the local parts that were opened last, decoded.
type footers struct {
	mu    sync.Mutex
	on    bool
	names []string
	files []*parquet.File
}

const keptFooters = 3

// ShareFooters makes readers that read a local dataset together decode the footer
// of each part once.
func (d *Dataset) ShareFooters() { d.footers.on = true }

func (s *footers) open(src storage.Reader, p manifest.Part, place string) (*parquet.File, error) {
	if !s.on {
		return parquet.Open(src, p.Bytes, place)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, name := range s.names {
		if name == p.Name {
			return s.files[i].At(src), nil
		}
	}
	f, err := parquet.Open(src, p.Bytes, place)
	if err != nil {
		return nil, err
	}
	if len(s.names) == keptFooters {
		s.names, s.files = s.names[1:], s.files[1:]
	}
	s.names, s.files = append(s.names, p.Name), append(s.files, f)
	return f, nil
}
