package seal

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage"
)

// Records returns the shards that have a record, by run. The segments of
// journals, of which there may be thousands, are not all listed.
func Records(ctx context.Context, b *storage.Bucket) (map[Build]map[int]bool, error) {
	out := map[Build]map[int]bool{}
	some, err := storage.First(b.List(ctx, manifest.Private), storage.PageSize)
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

// announced lists the private objects except the segments of journals.
func announced(ctx context.Context, b *storage.Bucket) ([]storage.Object, error) {
	top, err := storage.First(b.Level(ctx, manifest.Private), math.MaxInt)
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
		folder := func(o storage.Object) bool { return strings.HasSuffix(o.Key, "/") }
		out = append(out, slices.DeleteFunc(in, folder)...)
	}
	return out, nil
}

// note adds the shard whose record an object is, if it is one.
func note(found map[Build]map[int]bool, key string) {
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

func SortedBuilds(found map[Build]map[int]bool) []Build {
	return slices.SortedFunc(maps.Keys(found), func(a, b Build) int {
		return cmp.Or(cmp.Compare(a.Identity, b.Identity), cmp.Compare(a.Of, b.Of))
	})
}
