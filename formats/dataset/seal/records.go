package seal

import (
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

func ReadRecord(ctx context.Context, b *storage.Bucket, r Build, shard int) (manifest.Record, error) {
	key := r.Record(shard)
	data, err := readFile(ctx, b, key)
	if err != nil {
		return manifest.Record{}, err
	}
	place := storage.Join(b.URI(), key)
	rec, err := manifest.DecodeRecord(place, data)
	if err != nil {
		return manifest.Record{}, err
	}
	if rec.Identity != r.Identity || rec.Shards != r.Of || rec.Shard != shard {
		return manifest.Record{}, fault.Invalid(place, "", nil,
			"the record is of shard %d of %d, identity %q", rec.Shard,
			rec.Shards, rec.Identity)
	}
	return rec, nil
}

func readAllRecords(ctx context.Context, b *storage.Bucket, r Build) ([]manifest.Record, error) {
	all := make([]manifest.Record, 0, r.Of)
	for rec, err := range storage.InOrder(ctx, r.Of, storage.AtOnce, func(ctx context.Context, i int) (manifest.Record, error) {
		return ReadRecord(ctx, b, r, i)
	}) {
		if err != nil {
			return nil, err
		}
		if schema.Newer(rec.Schema, schema.Version) { // its other fields would be lost in the manifest
			return nil, fault.Invalid(storage.Join(b.URI(), r.Record(rec.Shard)),
				"run `rollmill seal` with the version that wrote it", nil,
				"the record has schema %s; this rollmill makes manifests of schema %s", rec.Schema, schema.Version)
		}
		all = append(all, rec)
	}
	return all, nil
}

// CheckRecords compares a manifest with the shards' records if these are
// there: a dataset may have been copied without them.
func CheckRecords(ctx context.Context, b *storage.Bucket, d *manifest.Manifest) error {
	found, err := Records(ctx, b)
	if err != nil {
		return err
	}
	if schema.Newer(d.Schema, schema.Version) {
		return nil // its records have fields that this version would leave out
	}
	var other error
	for _, r := range SortedBuilds(found) {
		if r.Of != d.Shards || len(found[r]) < r.Of {
			continue
		}
		all, err := readAllRecords(ctx, b, r)
		switch {
		case err != nil && r.Identity != d.Identity:
			continue
		case err != nil:
			return err
		}
		m := manifest.Merge(all)
		if m.Fingerprint() == d.Fingerprint() {
			return nil
		}
		sameParts := len(m.Parts) > 0 && slices.EqualFunc(m.Parts, d.Parts, func(a, b manifest.Part) bool { return a.Name == b.Name })
		if r.Identity != d.Identity && !sameParts { // another dataset's, which is to replace this one
			continue
		}
		other = fault.Invalid(storage.Join(b.URI(), manifest.FileName), "", nil, // who verifies reports findings, which have no hint
			"the manifest is not what the shards' records say (rows digest %s; theirs is %s): delete it and run `rollmill seal`, which makes "+
				"it again of the records", d.RowsDigest, m.RowsDigest)
	}
	return other
}
