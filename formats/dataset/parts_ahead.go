package dataset

import (
	"context"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/storage"
)

// partsAhead is how many parts of an object store are opened while earlier ones
// are read. Half a megabyte of each is in memory: a small part is that already.
const partsAhead = 8

// opening is the parts that are opened before their turn, by index.
type opening map[int]chan openedPart

type openedPart struct {
	src storage.Reader
	f   *parquet.File
	err error
}

// Take returns a part, open, and begins to open those after it that have one of the next rows.
func (o *opening) Take(ctx context.Context, d *Dataset, parts []manifest.Part, part int, rows int64) (storage.Reader,
	*parquet.File, error) {
	if d.Local() {
		return d.OpenPart(ctx, parts[part])
	}
	if *o == nil {
		*o = opening{}
	}
	for i := part; i < len(parts) && i <= part+partsAhead && rows > 0; i++ {
		if rows -= parts[i].Rows; (*o)[i] != nil || parts[i].Rows == 0 && i > part {
			continue
		}
		to := make(chan openedPart, 1)
		(*o)[i] = to
		go func() {
			src, f, err := d.OpenPart(ctx, parts[i])
			to <- openedPart{src, f, err}
		}()
	}
	got := <-(*o)[part]
	delete(*o, part)
	return got.src, got.f, got.err
}

// ready returns a part if it is open; take still returns it.
func (o opening) ready(part int) *parquet.File {
	if o[part] == nil {
		return nil
	}
	select {
	case p := <-o[part]:
		o[part] <- p
		return p.f
	default:
		return nil
	}
}

// drop closes the parts that nobody takes.
func (o *opening) drop() {
	for i, part := range *o {
		go func() {
			if p := <-part; p.src != nil {
				p.src.Close()
			}
		}()
		delete(*o, i)
	}
}
