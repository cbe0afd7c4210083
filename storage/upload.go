package storage

import (
	"context"
	"errors"
	"io"

	"gocloud.dev/blob"
)

// upload sends bytes as the object.
func (b *Bucket) upload(ctx context.Context, key string, data io.ReadSeeker, o *blob.WriterOptions) error {
	o.ContentType, o.DisableContentTypeDetection = "application/octet-stream", true
	size, err := data.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return b.retry(ctx, func(ctx request) error {
		ctx.moves(size)
		if _, err := data.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return b.drv.Upload(ctx, b.prefix+key, data, o)
	})
}

// draftMark is the metadata key under which an object of an object store names
// the draft that it was. Azure requires an identifier.
const draftMark = "rollmill_draft"

// upload sends the draft's bytes as the object.
func (d *Draft) upload(ctx context.Context, key string, createOnly bool, mark string) error {
	o := &blob.WriterOptions{IfNotExist: createOnly}
	if mark != "" {
		o.Metadata = map[string]string{draftMark: mark}
	}
	err := d.b.upload(ctx, key, d.file, o)
	if d.b.far != nil && kindOf(err) == ErrNotExist {
		return errors.Join(ErrNoBucket, err) // the only other thing that can be missing when one writes
	}
	return err
}

// owner returns the mark of the draft that an object was.
func (d *Draft) owner(ctx context.Context, key string) (string, error) {
	a, err := d.b.attributes(ctx, key)
	if err != nil {
		return "", err
	}
	return a.Metadata[draftMark], nil
}
