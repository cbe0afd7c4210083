package seal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Dataset writes the manifest of a dataset whose shard records are all there, and
// removes what killed writers left. A dataset with missing shards is a
// fault.Error that names them; one that is already sealed is only
// cleaned up.
func Dataset(ctx context.Context, uri string) (*manifest.Manifest, error) {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	m, err := Find(ctx, b)
	if err != nil {
		return nil, err
	}
	return m, tidy(ctx, b, m)
}

// Find returns the manifest at a place, and writes it first when the records of a run are complete.
func Find(ctx context.Context, b *storage.Bucket) (*manifest.Manifest, error) {
	m, err := readManifest(ctx, b)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, fault.Invalid(storage.Redact(b.URI()), folderHint(b.URI()), nil,
			"it is a file, and a dataset is a folder")
	}
	if err == nil || !errors.Is(err, storage.ErrNotExist) || manifest.PrunedIn(err) != nil {
		return m, err
	}
	found, err := Records(ctx, b)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, noDataset(ctx, b)
	}
	runs := SortedBuilds(found)
	for _, r := range runs {
		if len(found[r]) == r.Of {
			m, err := publish(ctx, b, r, Current{})
			if errors.Is(err, storage.ErrNotExist) { // another run was sealed first, and the records of this one were removed
				return readManifest(ctx, b)
			}
			return m, err
		}
	}
	of := runs[0].Of
	shards := missing(found[runs[0]], of)
	return nil, fault.Invalid(b.URI(), fmt.Sprintf("run the stage again with --shard i/%d for each", of), ErrIncomplete,
		"%s %s of %d missing", map[bool]string{true: "shard", false: "shards"}[len(shards) == 1], plural.Numbers(shards), of)
}

// ErrIncomplete marks a dataset with missing shards.
var ErrIncomplete = errors.New("the dataset is incomplete")

// Settle returns the manifest of a run, which it writes when the records of all
// shards are there, or returns the missing shards. It is a *manifest.ExistsError when
// there is another manifest than the one that the run replaces. shard is one
// whose record was there a moment ago: only the process that replaced the
// manifest can have removed it.
func Settle(ctx context.Context, b *storage.Bucket, r Build, shard int) (*manifest.Manifest, []int, error) {
	for {
		now, err := ReadCurrent(ctx, b)
		if err != nil {
			return nil, nil, err
		}
		if now.Manifest != nil && now.Manifest.Identity == r.Identity {
			return now.Manifest, nil, tidy(ctx, b, now.Manifest)
		}
		if now.Generation != r.Base {
			return nil, nil, Late(b, now, r)
		}
		m, list, err := r.seal(ctx, b, now)
		if !slices.Contains(list, shard) && !errors.Is(err, storage.ErrNotExist) {
			return m, list, err
		}
		again, look := ReadCurrent(ctx, b)
		if look != nil || again.Generation == now.Generation {
			return nil, list, errors.Join(err, look)
		}
	}
}
