package tidy

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

func (r *root) survey(ctx context.Context, o PruneOptions, objects map[string][]storage.Object) error {
	for dir := range objects {
		f := &folder{key: dir, uri: o.Root, epoch: epochOf(dir), stage: path.Base(dir)}
		if dir != "." {
			f.uri = storage.Join(o.Root, dir)
		}
		r.folders = append(r.folders, f)
	}
	slices.SortFunc(r.folders, func(a, b *folder) int { return strings.Compare(a.key, b.key) })
	failed := make([]error, len(r.folders))
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(together)
	for i, f := range r.folders {
		g.Go(func() error {
			b, err := storage.Open(inner, f.uri)
			if err != nil {
				return err
			}
			f.Folder, err = seal.Survey(inner, b, objects[f.key], r.now.Add(-o.Grace))
			if errors.Is(err, fault.ErrInvalid) {
				failed[i], err = err, nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, err := range failed {
		if err != nil {
			r.problems = append(r.problems, err.Error())
		}
	}
	r.folders = slices.DeleteFunc(r.folders, func(f *folder) bool { return f.Folder == nil })
	return nil
}

// together is how many manifests are read at once.
const together = 8

// receipt reads a receipt. An epoch whose submission is not finished is waited for.
func (r *root) receipt(ctx context.Context, key, dir string) error {
	data, err := r.bucket.Read(ctx, key)
	if errors.Is(err, storage.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var receipt receipts.Receipt
	if err := json.Unmarshal(data, &receipt); err != nil {
		r.waiting[epochOf(dir)] = "its receipt cannot be read"
		r.problems = append(r.problems, fault.Invalid(storage.Join(r.bucket.URI(), key), "", err,
			"not a receipt").Error())
		return nil
	}
	r.receipts[dir] = true
	if receipt.State == receipts.JobPending || receipt.State == receipts.JobRunning {
		r.waiting[epochOf(dir)] = "its submission is " + receipt.State
		r.waiting[receipt.Epoch] = "its submission is " + receipt.State
	}
	return nil
}

var epochKey = regexp.MustCompile(`^epoch-([0-9]{1,9})(?:/|$)`)

// epochOf returns the epoch whose folder has a key, or -1.
func epochOf(key string) int {
	m := epochKey.FindStringSubmatch(key)
	if m == nil {
		return -1
	}
	e, _ := strconv.Atoi(m[1])
	return e
}
