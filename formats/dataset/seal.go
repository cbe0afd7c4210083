package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

// Seal writes the manifest of a dataset whose shard records are all there, and
// removes what killed writers left. A dataset with missing shards is a
// formats.InputError that names them; one that is already sealed is only
// cleaned up.
func Seal(ctx context.Context, uri string) (*Dataset, error) {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	m, err := find(ctx, b)
	if err != nil {
		return nil, err
	}
	return newDataset(*m, uri, b), tidy(ctx, b, m)
}

// find returns the manifest at a place, and writes it first when the records of
// a run are complete.
func find(ctx context.Context, b *storage.Bucket) (*Manifest, error) {
	m, err := readManifest(ctx, b)
	if inFile(err) {
		return nil, formats.Invalid(storage.Redact(b.URI()), folderHint(b.URI()), nil, "it is a file, and a dataset is a folder")
	}
	if err == nil || !errors.Is(err, storage.ErrNotExist) || PrunedIn(err) != nil {
		return m, err
	}
	found, err := records(ctx, b)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, noDataset(ctx, b)
	}
	runs := sortedBuilds(found)
	for _, r := range runs {
		if len(found[r]) == r.of {
			m, err := publish(ctx, b, r, current{})
			if errors.Is(err, storage.ErrNotExist) { // another run was sealed first, and the records of this one were removed
				return readManifest(ctx, b)
			}
			return m, err
		}
	}
	return nil, incomplete(b, runs[0], missing(found[runs[0]], runs[0].of))
}

// ErrIncomplete marks a dataset with missing shards.
var ErrIncomplete = errors.New("the dataset is incomplete")

func incomplete(b *storage.Bucket, r build, shards []int) error {
	word := "shard"
	if len(shards) > 1 {
		word = "shards"
	}
	return formats.Invalid(b.URI(), fmt.Sprintf("run the stage again with --shard i/%d for each", r.of), ErrIncomplete,
		"%s %s of %d missing", word, numbers(shards), r.of)
}

// settle returns the manifest of a run, which it writes when the records of all
// shards are there, or returns the missing shards. It is an *ExistsError when
// there is another manifest than the one that the run replaces. shard is one
// whose record was there a moment ago: only the process that replaced the
// manifest can have removed it.
func settle(ctx context.Context, b *storage.Bucket, r build, shard int) (*Manifest, []int, error) {
	for {
		now, err := readCurrent(ctx, b)
		if err != nil {
			return nil, nil, err
		}
		if now.manifest != nil && now.manifest.Identity == r.identity {
			return now.manifest, nil, tidy(ctx, b, now.manifest)
		}
		if now.generation != r.base {
			return nil, nil, late(b, now, r)
		}
		m, list, err := r.seal(ctx, b, now)
		if !slices.Contains(list, shard) && !errors.Is(err, storage.ErrNotExist) {
			return m, list, err
		}
		again, look := readCurrent(ctx, b)
		if look != nil || again.generation == now.generation {
			return nil, list, errors.Join(err, look)
		}
	}
}

// seal publishes a run in place of the current dataset, or returns the missing
// shards.
func (r build) seal(ctx context.Context, b *storage.Bucket, now current) (*Manifest, []int, error) {
	found := map[build]map[int]bool{}
	for o, err := range b.List(ctx, r.dir()+"shard-") {
		if err != nil {
			return nil, nil, err
		}
		note(found, o.Key)
	}
	if list := missing(found[r], r.of); list != nil {
		return nil, list, nil
	}
	m, err := publish(ctx, b, r, now)
	return m, nil, err
}

// late returns the error of a run that can no longer be sealed: there is
// another manifest than the one that it was to replace.
func late(b *storage.Bucket, now current, r build) error {
	e := &ExistsError{URI: b.URI(), New: r.identity, Sealed: true, Late: true, Old: "unknown"}
	if now.manifest != nil {
		e.Old = now.manifest.Identity
	}
	return e
}

// publish makes a complete run visible in place of the dataset that was there a
// moment ago, and cleans up. After a crash there is either the old manifest,
// and the next process that finishes a shard starts over, or the new one, and
// the next process of this identity cleans up.
func publish(ctx context.Context, b *storage.Bucket, r build, now current) (*Manifest, error) {
	all, err := readAllRecords(ctx, b, r)
	if err != nil {
		return nil, err
	}
	m := merge(all)
	for {
		if now.raw == nil {
			err = b.Create(ctx, ManifestFile, m.encode())
		} else {
			err = b.Swap(ctx, ManifestFile, now.raw, m.encode())
		}
		if err == nil {
			return &m, tidy(ctx, b, &m)
		}
		if !errors.Is(err, storage.ErrExist) && !errors.Is(err, storage.ErrChanged) {
			return nil, err
		}
		before := now.generation
		if now, err = readCurrent(ctx, b); err != nil {
			return nil, err
		}
		switch {
		case now.manifest != nil && now.manifest.Identity == r.identity: // another process sealed it first
			return now.manifest, tidy(ctx, b, now.manifest)
		case now.generation != before:
			return nil, late(b, now, r)
		} // else its gates were evaluated again
	}
}
