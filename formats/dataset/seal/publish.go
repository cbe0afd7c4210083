package seal

import (
	"context"
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// seal publishes a run in place of the current dataset, or returns the missing shards.
func (r Build) seal(ctx context.Context, b *storage.Bucket, now Current) (*manifest.Manifest, []int, error) {
	found := map[Build]map[int]bool{}
	for o, err := range b.List(ctx, r.Dir()+"shard-") {
		if err != nil {
			return nil, nil, err
		}
		note(found, o.Key)
	}
	if list := missing(found[r], r.Of); list != nil {
		return nil, list, nil
	}
	m, err := publish(ctx, b, r, now)
	return m, nil, err
}

// publish makes a complete run visible in place of the dataset that was there a
// moment ago, and cleans up. After a crash there is either the old manifest,
// and the next process that finishes a shard starts over, or the new one, and
// the next process of this identity cleans up.
func publish(ctx context.Context, b *storage.Bucket, r Build, now Current) (*manifest.Manifest, error) {
	all, err := readAllRecords(ctx, b, r)
	if err != nil {
		return nil, err
	}
	m := manifest.Merge(all)
	for {
		if now.Raw == nil {
			err = b.Create(ctx, manifest.FileName, m.Encode())
		} else {
			err = b.Swap(ctx, manifest.FileName, now.Raw, m.Encode())
		}
		if err == nil {
			return &m, tidy(ctx, b, &m)
		}
		if !errors.Is(err, storage.ErrExist) && !errors.Is(err, storage.ErrChanged) {
			return nil, err
		}
		before := now.Generation
		if now, err = ReadCurrent(ctx, b); err != nil {
			return nil, err
		}
		switch {
		case now.Manifest != nil && now.Manifest.Identity == r.Identity: // another process sealed it first
			return now.Manifest, tidy(ctx, b, now.Manifest)
		case now.Generation != before:
			return nil, Late(b, now, r)
		} // else its gates were evaluated again
	}
}

// Late returns the error of a run that can no longer be sealed: there is
// another manifest than the one that it was to replace.
func Late(b *storage.Bucket, now Current, r Build) error {
	e := &manifest.ExistsError{URI: b.URI(), New: r.Identity, Sealed: true, Late: true, Old: "unknown"}
	if now.Manifest != nil {
		e.Old = now.Manifest.Identity
	}
	return e
}

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
