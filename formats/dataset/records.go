package dataset

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

func readRecord(ctx context.Context, b *storage.Bucket, r build, shard int) (record, error) {
	key := r.record(shard)
	data, err := readFile(ctx, b, key)
	if err != nil {
		return record{}, err
	}
	place := storage.Join(b.URI(), key)
	rec, err := decodeRecord(place, data)
	if err != nil {
		return record{}, err
	}
	if rec.Identity != r.identity || rec.Shards != r.of || rec.Shard != shard {
		return record{}, formats.Invalid(place, "", nil, "the record is of shard %d of %d, identity %q", rec.Shard,
			rec.Shards, rec.Identity)
	}
	return rec, nil
}

func readAllRecords(ctx context.Context, b *storage.Bucket, r build) ([]record, error) {
	all := make([]record, 0, r.of)
	for rec, err := range storage.InOrder(ctx, r.of, storage.AtOnce, func(ctx context.Context, i int) (record, error) {
		return readRecord(ctx, b, r, i)
	}) {
		if err != nil {
			return nil, err
		}
		if formats.Newer(rec.Schema, formats.SchemaVersion) { // its other fields would be lost in the manifest
			return nil, formats.Invalid(storage.Join(b.URI(), r.record(rec.Shard)),
				"run `rollmill seal` with the version that wrote it", nil,
				"the record has schema %s; this rollmill makes manifests of schema %s", rec.Schema, formats.SchemaVersion)
		}
		all = append(all, rec)
	}
	return all, nil
}

func sortedBuilds(found map[build]map[int]bool) []build {
	return slices.SortedFunc(maps.Keys(found), func(a, b build) int {
		return cmp.Or(cmp.Compare(a.identity, b.identity), cmp.Compare(a.of, b.of))
	})
}

// records returns the shards that have a record, by run. The segments of
// journals, of which there may be thousands, are not all listed.
func records(ctx context.Context, b *storage.Bucket) (map[build]map[int]bool, error) {
	out := map[build]map[int]bool{}
	some, err := storage.First(b.List(ctx, private), storage.PageSize)
	if err != nil {
		return nil, err
	}
	if len(some) == storage.PageSize {
		if some, err = announced(ctx, b); err != nil {
			return nil, err
		}
	}
	for _, o := range some {
		note(out, o.Key)
	}
	return out, nil
}

// note adds the shard whose record an object is, if it is one.
func note(found map[build]map[int]bool, key string) {
	r, file, ok := buildOf(key)
	if !ok {
		return
	}
	shard, ok := recordOf(r, file)
	if !ok {
		return
	}
	if found[r] == nil {
		found[r] = map[int]bool{}
	}
	found[r][shard] = true
}

// announced lists the private objects except the segments of journals.
func announced(ctx context.Context, b *storage.Bucket) ([]storage.Object, error) {
	top, err := storage.First(b.Level(ctx, private), math.MaxInt)
	if err != nil {
		return nil, err
	}
	var out []storage.Object
	for in, err := range storage.InOrder(ctx, len(top), storage.AtOnce, func(ctx context.Context, i int) ([]storage.Object, error) {
		if !strings.HasSuffix(top[i].Key, "/") {
			return top[i : i+1], nil
		}
		return storage.First(b.Level(ctx, top[i].Key), math.MaxInt)
	}) {
		if err != nil {
			return nil, err
		}
		for _, o := range in {
			if !strings.HasSuffix(o.Key, "/") {
				out = append(out, o)
			}
		}
	}
	return out, nil
}
