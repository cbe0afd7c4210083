package dataset

import (
	"context"
	"slices"
	"sync"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/storage"
)

// footers keeps what was read of parts for their footers, so that opening them again costs
// less. Of parts in an object store these are their ends, which also have the page indexes and
// often all light columns, and cost no request again; of local parts the footers of those
// that were opened last, decoded.
type footers struct {
	mu    sync.Mutex
	left  int64             // bytes of ends that may still be kept
	ends  map[string][]byte // nil: nothing is kept
	names []string          // of files
	files []*parquet.File
}

// KeepFooters makes the dataset keep what is read of its parts for their footers: in an object
// store half a megabyte of each, up to so many bytes in all, and on a local disk the
// last few. It is for whoever opens parts again and again, or several times at once.
func (d *Dataset) KeepFooters(bytes int64) {
	d.footers.mu.Lock()
	defer d.footers.mu.Unlock()
	if d.footers.ends == nil {
		d.footers.ends, d.footers.left = map[string][]byte{}, bytes
	}
}

// Warm reads the footers of a table that KeepFooters keeps, many at once.
func (d *Dataset) Warm(ctx context.Context, table string) error {
	if d.Local() {
		return nil
	}
	parts := d.PartsOf(table)
	d.footers.mu.Lock()
	parts = parts[:min(len(parts), int(d.footers.left/endBytes))]
	d.footers.mu.Unlock()
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

// ColumnBytes returns how many bytes of the parts hold columns, and those below them. It reads the footer of each part.
func (d *Dataset) ColumnBytes(ctx context.Context, columns []string) (total int64, err error) {
	for _, p := range d.PartsOf("") {
		src, f, err := d.OpenPart(ctx, p)
		if err != nil {
			return 0, err
		}
		for i, name := range f.Columns() {
			for _, g := range f.Meta.RowGroups {
				if (&layout.Leaf{Name: name}).Under(columns) {
					total += g.Columns[i].MetaData.TotalCompressedSize
				}
			}
		}
		src.Close()
	}
	return total, nil
}

const (
	endBytes    = 512 << 10 // what is read for a footer
	keptFooters = 3         // of local parts
)

// remote opens a part in an object store, with its end if that was kept.
func (k *footers) remote(src storage.Reader, p manifest.Part, place string) (*parquet.File, error) {
	k.mu.Lock()
	end := k.ends[p.Name]
	k.mu.Unlock()
	if end != nil {
		return layout.OpenAgain(src, p.Bytes, place, fetchAhead, end)
	}
	f, err := layout.OpenAhead(src, p.Bytes, place, fetchAhead)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if end := f.End(); k.ends != nil && k.ends[p.Name] == nil && int64(len(end)) <= k.left {
		k.ends[p.Name] = end
		k.left -= int64(len(end))
	}
	return f, nil
}

// local opens a part on a local disk. Readers that open it together decode its footer once.
func (k *footers) local(src storage.Reader, p manifest.Part, place string) (*parquet.File, error) {
	k.mu.Lock()
	if k.ends == nil {
		k.mu.Unlock()
		return parquet.Open(src, p.Bytes, place)
	}
	defer k.mu.Unlock()
	if i := slices.Index(k.names, p.Name); i >= 0 {
		return k.files[i].At(src), nil
	}
	f, err := parquet.Open(src, p.Bytes, place)
	if err != nil {
		return nil, err
	}
	if len(k.names) == keptFooters {
		k.names, k.files = k.names[1:], k.files[1:]
	}
	k.names, k.files = append(k.names, p.Name), append(k.files, f)
	return f, nil
}
