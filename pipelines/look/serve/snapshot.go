package serve

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/live"
	"github.com/rollmill/rollmill/storage"
)

// snapshots are datasets in memory with the journalled trajectories of one example, so
// that the pages of a group and of a trajectory show a rollout under way as they show
// a finished one.
type snapshots struct {
	mu   sync.Mutex
	root string // URI in memory
	n    int
	kept []snapshot // the oldest first
}

type snapshot struct {
	of  string // dataset, group and number of attempts
	uri string
	d   *dataset.Dataset
}

const (
	maxSnapshots = 4
)

// snapshot returns a dataset of the journalled trajectories of a group, and of the
// trajectory that is named if that is not "". One of group and id is given.
func (s *Server) snapshot(ctx context.Context, f *catalogue.Entry, group, id string) (*dataset.Dataset, error) {
	j := s.journal(f)
	if err := j.Refresh(ctx, f.URI); err != nil {
		return nil, err
	}
	members, under, err := j.Members(group, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Key, err)
	}
	shots := &s.snapshots
	shots.mu.Lock()
	defer shots.mu.Unlock()
	of := fmt.Sprint(f.Key, members[0].Group(), len(members), members[len(members)-1].FinishedAt)
	for _, k := range shots.kept {
		if k.of == of {
			return k.d, nil
		}
	}
	rows, err := live.Load(ctx, under, members)
	if err != nil {
		return nil, err
	}
	return shots.Add(of, rows)
}

// Add keeps a snapshot of rows, and removes the oldest of too many.
func (shots *snapshots) Add(of string, rows []formats.Trajectory) (*dataset.Dataset, error) {
	ctx := context.Background() // in memory, and not of one request
	shots.n++
	uri := storage.Join(shots.root, fmt.Sprint(shots.n))
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
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	if err != nil {
		return nil, err
	}
	shots.kept = append(shots.kept, snapshot{of, uri, d})
	if len(shots.kept) > maxSnapshots {
		old := shots.kept[0]
		shots.kept = slices.Delete(shots.kept, 0, 1)
		return d, remove(ctx, old.uri)
	}
	return d, nil
}

// remove deletes a dataset in memory.
func remove(ctx context.Context, uri string) error {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return err
	}
	for o, err := range b.List(ctx, "") {
		if err == nil {
			err = b.Delete(ctx, o.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// underway returns what a request asks of a dataset that is not complete: its group, or
// its trajectory.
func (s *Server) underway(r *http.Request, f *catalogue.Entry) (*dataset.Dataset, error) {
	group, id := "", ""
	if r.PathValue("group") != "" {
		group = segment(r, "group")
	}
	if r.PathValue("id") != "" {
		id = segment(r, "id")
	}
	if group+id == "" {
		return nil, elsewhere(f.Link())
	}
	return s.snapshot(r.Context(), f, group, id)
}
