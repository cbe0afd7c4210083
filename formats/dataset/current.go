package dataset

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

// current is the manifest at a place at one moment.
type current struct {
	manifest   *Manifest
	raw        []byte // nil when there is none
	damage     error  // why the manifest cannot be read
	generation string // differs for any two manifests that ever were here; "" when there is none
}

// readCurrent reads the manifest. Errors are those of the store.
func readCurrent(ctx context.Context, b *storage.Bucket) (current, error) {
	raw, err := b.Read(ctx, ManifestFile)
	switch {
	case errors.Is(err, storage.ErrNotExist):
		return current{}, nil
	case err != nil:
		return current{}, err
	}
	m, err := decodeManifest(storage.Join(b.URI(), ManifestFile), raw)
	switch {
	case errors.Is(err, formats.ErrInvalid):
		return current{raw: raw, damage: err, generation: shortSum(raw, 8)}, nil
	case err != nil:
		return current{}, err
	}
	return current{manifest: m, raw: raw, generation: m.generation()}, nil
}

// generation identifies a manifest among all that ever were at one place: it
// covers the names of the parts, and these cover the manifest that was
// replaced.
func (m *Manifest) generation() string { return m.fingerprint()[:16] }
