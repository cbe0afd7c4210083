package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
)

var errKilled = errors.New("killed")

// killer allows a number of operations and fails all later ones, because a
// killed process makes none. What is read ahead is read at the same time.
func killer(after int) (hook func(op, key string) error, dead func() bool) {
	var n atomic.Int64
	return func(op, key string) error {
		if n := n.Add(1); n > int64(after) {
			return fmt.Errorf("%w before operation %d, %s %q", errKilled, n, op, key)
		}
		return nil
	}, func() bool { return n.Load() > int64(after) }
}

func scoresOf(example int) []formats.Score {
	var out []formats.Score
	for _, r := range group(example, 2) {
		out = append(out, formats.Score{TrajectoryID: r.TrajectoryID, ExampleID: r.ExampleID, Generation: r.Generation, Reward: r.Reward})
	}
	return out
}

// shardOnce writes one shard with two tables and a journal, and releases it as
// a process that fails does.
func shardOnce(ctx context.Context, uri string, spec manifest.Spec, o Options) error {
	s, err := Begin(ctx, uri, spec, o)
	if err != nil {
		return err
	}
	defer s.Discard()
	if s.UpToDate() {
		_, err = s.Commit(ctx, Outcome{})
		return err
	}
	j, err := journals.Open[formats.Score](ctx, s.Journal())
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for r, err := range j.Rows(ctx) {
		if err != nil {
			return err
		}
		have[r.TrajectoryID] = true
	}
	for e := o.Shard; e < 3; e += o.Of {
		rows := slices.DeleteFunc(scoresOf(e), func(r formats.Score) bool { return have[r.TrajectoryID] })
		if err := j.Append(ctx, rows); err != nil {
			return err
		}
	}
	main, stats := NewTable[formats.Score](s, "", -1), NewTable[formats.GroupStats](s, schema.TableGroups, -1)
	for rows, err := range j.Sorted(ctx, func(r *formats.Score) (int64, error) { return int64(r.ExampleID[3]), nil }) {
		if err != nil {
			return err
		}
		if err := main.Write(ctx, rows); err != nil {
			return err
		}
		if err := stats.Write(ctx, []formats.GroupStats{{GroupID: rows[0].ExampleID, Count: int32(len(rows))}}); err != nil {
			return err
		}
	}
	_, err = s.Commit(ctx, Outcome{Counts: map[string]int64{"ok": 1}})
	return err
}

// A process may be killed before any storage operation of a run over two shards
// that replaces another dataset. When the same commands are run again, the rows
// are the same, and nothing else is left. With -short, it is killed before every third operation
// in memory, and before every 13th elsewhere.
func TestCrashAnywhere(t *testing.T) {
	ctx := context.Background()
	const shards = 2
	run := func(uri string, o Options) error {
		for i := range shards {
			o.Shard, o.Of, o.Overwrite, o.partSize = i, shards, true, 1
			if err := shardOnce(ctx, uri, manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores}, o); err != nil {
				return err
			}
		}
		return nil
	}
	old := wideSpec()
	old.Params = map[string]any{"generations": 2}
	for _, replacing := range []bool{false, true} {
		t.Run(fmt.Sprintf("replacing=%v", replacing), func(t *testing.T) {
			places(t, func(t *testing.T, uri string) {
				prepare := func(uri string) {
					if replacing {
						write(ctx, t, uri, old, Options{}, 2)
					}
				}
				prepare(sibling(uri, "-calm"))
				if err := run(sibling(uri, "-calm"), Options{}); err != nil {
					t.Fatal(err)
				}
				calm, objects := open(t, sibling(uri, "-calm")), len(keys(t, sibling(uri, "-calm")))
				step := 1
				if testing.Short() && strings.HasPrefix(uri, "mem:") {
					step = 3
				} else if testing.Short() {
					step = 13
				}
				for after := 0; ; after += step {
					uri := sibling(uri, fmt.Sprint("-", after))
					prepare(uri)
					hook, dead := killer(after)
					err := run(uri, Options{hook: hook})
					if dead() && !errors.Is(err, errKilled) {
						t.Fatalf("killed before operation %d, and the run said %v", after+1, err)
					}
					if err := run(uri, Options{}); err != nil {
						t.Fatalf("after a kill before operation %d: %v", after+1, err)
					}
					d := open(t, uri)
					if d.RowsDigest != calm.RowsDigest || d.Tables[schema.TableGroups].RowsDigest != calm.Tables[schema.TableGroups].RowsDigest {
						t.Fatalf("after a kill before operation %d: other rows", after+1)
					}
					if err := dataset.Verify(ctx, d); err != nil {
						t.Fatalf("after a kill before operation %d: %v", after+1, err)
					}
					if left := keys(t, uri); len(left) != objects {
						t.Fatalf("after a kill before operation %d: %v is there", after+1, left)
					}
					if !dead() {
						t.Logf("%d operations", after)
						return
					}
				}
			})
		})
	}
}
