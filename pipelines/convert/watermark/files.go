package watermark

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

const folder = ".rollmill/import/"

func sum(data []byte) string {
	d := sha256.Sum256(data)
	return hex.EncodeToString(d[:])
}

// put writes a file under a name that ends with its digest.
func (w *Watermark) put(ctx context.Context, kind string, data []byte) (name string, err error) {
	name = kind + sum(data)
	return name, w.bucket.Write(ctx, folder+name, data)
}

// Get reads a file that was put, such as one of Pending.
func (w *Watermark) Get(ctx context.Context, name string) ([]byte, error) {
	data, err := w.bucket.Read(ctx, folder+name)
	if err == nil && !strings.HasSuffix(name, "-"+sum(data)) {
		err = errChanged
	}
	return data, w.damaged(name, err)
}

var errChanged = errors.New("its digest is not the one in its name")

const rebuild = "put the folder back from a backup that is as new as the datasets of the run; without one, import " +
	"into another run with another --root, which reads everything again"

// damaged is the error of a file that is missing or has other content. What else a store says stays as it is.
func (w *Watermark) damaged(name string, err error) error {
	if err == nil || !errors.Is(err, errChanged) && !errors.Is(err, storage.ErrNotExist) {
		return err
	}
	return fault.Invalid(w.place(name), rebuild, err, "the watermark is damaged")
}

func (w *Watermark) place(name string) string { return storage.Join(w.bucket.URI(), folder+name) }

// lacks is the error of a watermark that is older than something else in the run.
func (w *Watermark) lacks(what string, args ...any) error {
	text := fmt.Sprintf("the watermark ends with night %d", w.Night)
	if w.Night == 0 {
		text = "the watermark is gone"
	}
	return fault.Invalid(w.place(""), rebuild, nil, "%s, and %s", text, fmt.Sprintf(what, args...))
}
