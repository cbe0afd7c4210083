package seal

import (
	"context"
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Current is the manifest at a place at one moment.
type Current struct {
	Manifest   *manifest.Manifest
	Raw        []byte // nil when there is none
	Damage     error  // why the manifest cannot be read
	Generation string // differs for any two manifests that ever were here; "" when there is none
}

// ReadCurrent reads the manifest. Errors are those of the store.
func ReadCurrent(ctx context.Context, b *storage.Bucket) (Current, error) {
	raw, err := b.Read(ctx, manifest.FileName)
	switch {
	case errors.Is(err, storage.ErrNotExist):
		return Current{}, nil
	case err != nil:
		return Current{}, err
	}
	m, err := manifest.Decode(storage.Join(b.URI(), manifest.FileName), raw)
	switch {
	case errors.Is(err, fault.ErrInvalid):
		return Current{Raw: raw, Damage: err, Generation: manifest.ShortSum(raw, 8)}, nil
	case err != nil:
		return Current{}, err
	}
	return Current{Manifest: m, Raw: raw, Generation: m.Generation()}, nil
}

// Replaced reports whether a part has no rows any more because the dataset was compacted.
func (c *Current) Replaced(name string) bool {
	return c.Manifest != nil && c.Manifest.Compacted != nil &&
		!slices.ContainsFunc(c.Manifest.StoredParts(), func(p manifest.Part) bool { return p.Name == name })
}

func readFile(ctx context.Context, b *storage.Bucket, key string) ([]byte, error) {
	data, err := b.Read(ctx, key)
	if errors.Is(err, storage.ErrTooLarge) {
		return nil, fault.Invalid(storage.Join(b.URI(), key), "", err, "not a manifest or record")
	}
	return data, err
}

func readManifest(ctx context.Context, b *storage.Bucket) (*manifest.Manifest, error) {
	data, err := readFile(ctx, b, manifest.FileName)
	if err != nil {
		return nil, err
	}
	return manifest.Decode(storage.Join(b.URI(), manifest.FileName), data)
}
