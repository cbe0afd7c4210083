package shards

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// TestMachinesAtOnce: four shards, each on two machines that do not know about
// each other, as after a node was wrongly considered dead. Half of the second
// machines sampled other rows. The first record of a shard wins, the dataset is
// complete, and nothing of the others is left. None of them fails.
func TestMachinesAtOnce(t *testing.T) {
	const shards, machines, examples = 4, 2, 12
	places(t, func(t *testing.T, uri string) {
		machine := func(ctx context.Context, shard, nth int) error {
			s, err := Begin(ctx, uri, wideSpec(), Options{Shard: shard, Of: shards, partSize: 1})
			if err != nil {
				return err
			}
			defer s.Discard()
			if !s.UpToDate() {
				w := NewTable[formats.Trajectory](s, "", -1)
				for e := shard; e < examples; e += shards {
					rows := group(e, 4)
					if nth == 1 && shard%2 == 0 {
						rows[0].Messages[1].Content = "sampled anew by a machine that was given up"
					}
					if err := w.Write(ctx, rows); err != nil {
						return err
					}
				}
			}
			_, err = s.Commit(ctx, Outcome{Counts: map[string]int64{"ok": 12}})
			return err
		}
		g, ctx := errgroup.WithContext(t.Context())
		for shard := range shards {
			for nth := range machines {
				g.Go(func() error {
					if err := machine(ctx, shard, nth); err != nil {
						return fmt.Errorf("shard %d, machine %d: %w", shard, nth, err)
					}
					return nil
				})
			}
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		d := open(t, uri)
		if d.Rows != examples*4 || d.Counts["ok"] != 48 || d.Shards != shards {
			t.Fatalf("%d rows, counts %v, %d shards", d.Rows, d.Counts, d.Shards)
		}
		if err := dataset.Verify(t.Context(), d); err != nil {
			t.Error(err)
		}
		rows, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", d.All())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, r := range rows {
			seen[r.TrajectoryID]++
		}
		if len(seen) != examples*4 {
			t.Errorf("%d trajectories in %d rows", len(seen), len(rows))
		}
		known := map[string]bool{}
		for _, p := range d.Parts {
			known[p.Name] = true
		}
		for _, k := range keys(t, uri) {
			if len(k) > 5 && k[:5] == "part-" && !known[k] {
				t.Errorf("%s is left of a machine that was late", k)
			}
		}
	})
}
