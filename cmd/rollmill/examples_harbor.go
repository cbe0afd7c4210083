package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
)

// harbor reads Harbor task folders, each an example. Keys of task.toml that mean
// nothing are logged.
func (f *taskFile) harbor(s *cli.Session, ref dataset.Ref, list string) (*examples.Set, dataset.Ref, error) {
	folders, err := harbor.Find(list)
	if err != nil {
		return nil, ref, err
	}
	all, sum, ignored := make([]formats.Example, len(folders)), sha256.New(), map[string]int{}
	for i, folder := range folders {
		task, err := harbor.Read(folder)
		if err != nil {
			return nil, ref, err
		}
		for _, key := range task.Ignored {
			ignored[key]++
		}
		fmt.Fprintln(sum, task.Digest)
		if all[i], err = task.Example(i); err != nil {
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
