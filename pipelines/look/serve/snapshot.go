package serve

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/live"
	"github.com/rollmill/rollmill/storage"
)

// maxSnapshots is how many datasets in memory are kept.
const maxSnapshots = 4

// snapshot returns a dataset in memory of the journalled trajectories of a group, and of the
// trajectory that is named if that is not "", so that the pages of both show a rollout under
// way as they show a finished one. One of group and id is given.
func (s *Server) snapshot(ctx context.Context, f *catalogue.Entry, group, id string) (*dataset.Dataset, error) {
	j := s.journal(f)
	if err := j.Refresh(ctx, f.URI); err != nil {
		return nil, err
	}
	members, under, err := j.Members(group, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Key, err)
	}
	of := fmt.Sprint(f.Key, members[0].Group(), len(members), members[len(members)-1].FinishedAt)
	return s.snapshots.Of(of, func() (*dataset.Dataset, error) {
		rows, err := live.Load(ctx, under, members)
		if err != nil {
			return nil, err
		}
		return inMemory(storage.Join("mem://"+s.cookie(), rand.Text()), rows)
	})
}

// inMemory writes rows as a rollout in memory.
func inMemory(uri string, rows []formats.Trajectory) (*dataset.Dataset, error) {
	ctx := context.Background() // not of one request
	w, err := shards.Begin(ctx, uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		return nil, err
	}
	if err := shards.NewTable[formats.Trajectory](w, "", -1).Write(ctx, rows); err != nil {
		return nil, err
	}
	if _, err := w.Commit(ctx, shards.Outcome{Counts: map[string]int64{}}); err != nil {
		return nil, err
	}
	return dataset.Open(ctx, uri, dataset.OpenOptions{})
}

// remove deletes a dataset in memory; what could not be deleted stays until the server ends.
func remove(d *dataset.Dataset) {
	ctx := context.Background()
	b, err := storage.Open(ctx, d.URI())
	if err != nil {
		return
	}
	for o, err := range b.List(ctx, "") {
		if err == nil {
			_ = b.Delete(ctx, o.Key)
		}
	}
}
