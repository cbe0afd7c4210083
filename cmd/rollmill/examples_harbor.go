package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/storage"
)

// harborTask is a task, and where the user has its folder.
type harborTask struct {
	harbor.Task
	place string
}

// harbor reads the Harbor task folders at places, separated by commas; each is an
// example. Keys of task.toml that mean nothing are logged.
func (f *taskFile) harbor(ctx context.Context, s *cli.Session, ref dataset.Ref, places string) (*examples.Set, dataset.Ref, error) {
	var tasks []harborTask
	for place := range strings.SplitSeq(places, ",") {
		read := localTasks
		if strings.Contains(place, "://") {
			read = bucketTasks
		}
		found, err := read(ctx, place)
		if err != nil {
			return nil, ref, err
		}
		tasks = append(tasks, found...)
	}
	all, sum, ignored := make([]formats.Example, len(tasks)), sha256.New(), map[string]int{}
	for i, t := range tasks {
		for _, key := range t.Ignored {
			ignored[key]++
		}
		fmt.Fprintln(sum, t.Digest)
		var err error
		if all[i], err = t.Example(i, t.place); err != nil {
			return nil, ref, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ignored)) {
		s.Logger().Warn("a key of task.toml has no effect", "key", key, "tasks", ignored[key])
	}
	ref.Digest = hex.EncodeToString(sum.Sum(nil))
	set, err := examples.Of(all...)
	if err == nil {
		s.Defer(set)
	}
	return set, ref, err
}

func localTasks(_ context.Context, place string) (out []harborTask, err error) {
	folders, err := harbor.Find(place)
	for _, folder := range folders {
		t, err := harbor.Read(folder)
		if err != nil {
			return nil, err
		}
		out = append(out, harborTask{t, filepath.ToSlash(folder)})
	}
	return out, err
}

// bucketTasks copies the tasks below a prefix to the cache, where each is under its
// digest.
func bucketTasks(ctx context.Context, uri string) (out []harborTask, err error) {
	bucket, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, cli.Usagef("", "--examples: %w", err)
	}
	files := map[string][]string{} // of each task
	var keys []string
	for o, err := range bucket.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		if keys = append(keys, o.Key); path.Base(o.Key) == "task.toml" {
			files[path.Dir(o.Key)] = nil
		}
	}
	for _, key := range keys {
		for dir := path.Dir(key); ; dir = path.Dir(dir) {
			if _, ok := files[dir]; ok {
				files[dir] = append(files[dir], key)
			}
			if dir == "." || dir == "/" {
				break
			}
		}
	}
	for _, root := range slices.Sorted(maps.Keys(files)) {
		t, err := cachedTask(ctx, bucket, root, files[root])
		if err != nil {
			return nil, err
		}
		out = append(out, harborTask{t, storage.Redact(storage.Join(bucket.URI(), root))})
	}
	if len(out) == 0 {
		err = formats.Invalid(storage.Redact(uri), "name a prefix below which a task.toml is", fs.ErrNotExist, "no task")
	}
	return out, err
}

// cachedTask copies a task's files, unless they are in the cache.
func cachedTask(ctx context.Context, bucket *storage.Bucket, root string, keys []string) (t harbor.Task, err error) {
	cache, err := harbor.Cached("")
	if err == nil {
		err = os.MkdirAll(cache, 0o755)
	}
	if err != nil {
		return t, err
	}
	made, err := os.MkdirTemp(cache, ".copied-")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(made)
	whole := filepath.Join(made, path.Base(root)) // a task without a name has its folder's
	for _, key := range keys {
		name := filepath.FromSlash(strings.TrimPrefix(key, root+"/"))
		if !filepath.IsLocal(name) {
			return t, formats.Invalid(storage.Redact(storage.Join(bucket.URI(), key)), "", nil, "not a name of a file in a task")
		}
		data, err := bucket.Read(ctx, key)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(whole, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(whole, name), data, 0o755)
		}
		if err != nil {
			return t, err
		}
	}
	if t, err = harbor.Read(whole); err != nil {
		return t, err
	}
	to, err := harbor.Cached(t.Digest)
	if err == nil {
		err = os.Rename(whole, to)
	}
	if errors.Is(err, fs.ErrExist) { // another process, or an earlier one, copied it
		err = nil
	}
	t.Dir = to
	return t, err
}
