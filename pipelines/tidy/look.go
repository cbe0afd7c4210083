package tidy

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// look lists a run once, and reads each manifest and receipt.
func look(ctx context.Context, o PruneOptions) (*root, error) {
	b, err := storage.Open(ctx, o.Root)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	r := &root{bucket: b, newest: -1, waiting: map[int]string{}, receipts: map[string]bool{}}
	objects := map[string][]storage.Object{} // by folder
	var all []storage.Object
	for x, err := range b.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		dir, name := path.Split(x.Key)
		dir = path.Clean(dir)
		switch name {
		case manifest.FileName:
			objects[dir] = nil
			r.newest = max(r.newest, epochOf(dir))
		case receipts.File:
			if err := r.receipt(ctx, x.Key, dir); err != nil {
				return nil, err
			}
		}
		all = append(all, x)
	}
	if len(objects) == 0 {
		return nil, fault.Invalid(storage.Redact(o.Root), "name the run's folder, the one that holds epoch-0",
			storage.ErrNotExist, "there is no complete dataset")
	}
	for _, x := range all {
		if dir, inside := owner(objects, x.Key); inside {
			x.Key = strings.TrimPrefix(x.Key, strings.TrimPrefix(dir+"/", "./"))
			objects[dir] = append(objects[dir], x)
		}
	}
	if err := r.clock(ctx, began, o); err != nil {
		return nil, err
	}
	if err := r.survey(ctx, o, objects); err != nil {
		return nil, err
	}
	r.temporary, err = b.Abandoned(ctx, r.now.Add(-o.Grace))
	return r, err
}

// owner returns the nearest folder of a dataset above a key.
func owner(folders map[string][]storage.Object, key string) (dir string, ok bool) {
	for dir = path.Dir(key); ; dir = path.Dir(dir) {
		if _, ok = folders[dir]; ok || dir == "." {
			return dir, ok
		}
	}
}
