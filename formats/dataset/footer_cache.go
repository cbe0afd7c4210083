package dataset

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/singleflight"

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

	decoding singleflight.Group // of local parts, by name
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

// localAhead returns how many local parts are opened ahead: one, if its footer is then kept for all readers.
func (k *footers) localAhead() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ends == nil {
		return 0
	}
	return 1
}

// kept returns a part that was opened before; nil if it is not kept.
func (k *footers) kept(name string) *parquet.File {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := slices.Index(k.names, name); i >= 0 {
		return k.files[i]
	}
	return nil
}

// local opens a part on a local disk. Readers that open it together decode its footer once.
func (k *footers) local(src storage.Reader, p manifest.Part, place string) (*parquet.File, error) {
	f, err, _ := k.decoding.Do(p.Name, func() (any, error) {
		if f := k.kept(p.Name); f != nil {
			return f, nil
		}
		f, err := parquet.Open(src, p.Bytes, place)
		k.mu.Lock()
		defer k.mu.Unlock()
		if err == nil && k.ends != nil {
			from := max(0, len(k.names)+1-keptFooters)
			k.names, k.files = append(k.names[from:], p.Name), append(k.files[from:], f)
		}
		return f, err
	})
	if err != nil {
		return nil, err
	}
	return f.(*parquet.File).At(src), nil
}
