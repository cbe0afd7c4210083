package dataset

import (
	"context"
	"errors"
	"slices"

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

// replaced reports whether a part has no rows any more because the dataset was
// compacted.
func (c *current) replaced(name string) bool {
	return c.manifest != nil && c.manifest.Compacted != nil &&
		!slices.ContainsFunc(c.manifest.storedParts(), func(p Part) bool { return p.Name == name })
}

// readFile reads a manifest or a record.
func readFile(ctx context.Context, b *storage.Bucket, key string) ([]byte, error) {
	data, err := b.Read(ctx, key)
	if errors.Is(err, storage.ErrTooLarge) {
		return nil, formats.Invalid(storage.Join(b.URI(), key), "", err, "not a manifest or record")
	}
	return data, err
}
