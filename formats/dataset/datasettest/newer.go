// Package datasettest writes a dataset for tests as a later version of rollmill
// would: with columns that this version does not know.
package datasettest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

// Schema is the schema version that Newer writes.
const Schema = "2.99"

// Newer writes a wide dataset of that version into a folder on disk: groups of
// four trajectories, in which every column has a value in some rows and null in
// others. It returns the rows.
func Newer(ctx context.Context, folder string, groups int) ([]Trajectory, error) {
	spec := manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories,
		Params: map[string]any{"generations": 4}}
	shard, err := shards.Begin(ctx, folder, spec, shards.Options{})
	if err != nil {
		return nil, err
	}
	table := shards.NewTable[Trajectory](shard, "", -1)
	var all []Trajectory
	for group := range randomtest.Trajectories(1,
		randomtest.Options{Groups: groups, Generations: 4, Messages: 4, SampledTokens: 40, PromptTokens: 30, Branches: 0.3}) {
		rows := make([]Trajectory, len(group))
		for i := range group {
			fill(reflect.ValueOf(&rows[i]).Elem(), reflect.ValueOf(&group[i]).Elem())
			rows[i].add(len(all) + i)
			rows[i].PayloadDigest = formats.PayloadDigest(&rows[i])
		}
		if err := table.Write(ctx, rows); err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	if _, err := shard.Commit(ctx, shards.Outcome{}); err != nil {
		return nil, err
	}
	return all, relabel(folder)
}

// fill copies the fields that both structs have. The elements of lists that differ
// begin with those of formats.
func fill(to, from reflect.Value) {
	for i := range to.NumField() {
		source := from.FieldByName(to.Type().Field(i).Name)
		switch {
		case !source.IsValid():
		case source.Type() == to.Field(i).Type():
			to.Field(i).Set(source)
		default:
			to.Field(i).Set(reflect.MakeSlice(to.Field(i).Type(), source.Len(), source.Len()))
			for k := range source.Len() {
				to.Field(i).Index(k).Field(0).Set(source.Index(k))
			}
		}
	}
}

// relabel changes the schema version in the records and the manifest to the
// newer one.
func relabel(folder string) error {
	return filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".json") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		was, is := `"schema": "`+schema.Version+`"`, `"schema": "`+Schema+`"`
		if n := bytes.Count(data, []byte(was)); n != 1 {
			return fmt.Errorf("%s names its schema %d times", path, n)
		}
		return os.WriteFile(path, bytes.Replace(data, []byte(was), []byte(is), 1), 0o666)
	})
}
