package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

// stand is what is at a dataset's manifest at one moment.
type stand struct {
	manifest   *Manifest
	raw        []byte // nil when there is none
	damage     error  // why there is no manifest, when it cannot be read
	generation string // differs for any two manifests that ever stood here; "" when there is none
}

// standing looks what stands. Errors are of the store.
func standing(ctx context.Context, b *storage.Bucket) (stand, error) {
	raw, err := b.Read(ctx, ManifestFile)
	switch {
	case errors.Is(err, storage.ErrNotExist):
		return stand{}, nil
	case err != nil:
		return stand{}, err
	}
	m, err := decodeManifest(storage.Join(b.URI(), ManifestFile), raw)
	switch {
	case errors.Is(err, formats.ErrInvalid):
		sum := sha256.Sum256(raw)
		return stand{raw: raw, damage: err, generation: hex.EncodeToString(sum[:8])}, nil
	case err != nil:
		return stand{}, err
	}
	return stand{manifest: m, raw: raw, generation: m.generation()}, nil
}

// generation names a manifest among all that ever stand at one place: it
// covers the names of the parts, and these the manifest that was replaced.
func (m *Manifest) generation() string { return m.fingerprint()[:16] }
