// Command bench makes the datasets that the scripts beside it measure, scans
// one of them without writing, removes them, and draws what scale.py measured:
//
//	bench thin ROWS URI   trajectories next to empty in URI/rollout, their scores in URI/score
//	bench tokens ROWS URI  the same with 48 sampled tokens a row, and what a teacher says of each in the scores
//	bench base ROWS URI   the same trajectories without the scores
//	bench wide BYTES URI  trajectories with rewards, so many bytes as they lie, in URI/rollout
//	bench wide BYTES URI SHAPE  the same in another shape: usual, small or large
//	bench real ROWS URI   trajectories of 20 messages and 2,000 sampled tokens, in URI/rollout
//	bench scan SCORES     statistics and advantages of every group, summed
//	bench remove URI      everything at URI, gone
//	bench plot JSONL SVG  time and memory of each stage against rows
//	bench gateway BIFROST ROLLMILL FOLDER RATES SECONDS ROUNDS [WORDS...]  calls through Bifrost's core, a rollout, and the proxy that WORDS start
//	bench credit JSONL SVG  rewards against epochs, as testdata/credit/run.py measured them
//
// The same arguments give the same rows.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/storage"
	_ "github.com/rollmill/rollmill/storage/stores" // s3, gs and azblob
)

const generations = 8 // of thin and real data

// shapes are kinds of wide data: groups of some rows, whose bytes are those of a
// row as it lies.
var shapes = map[string]struct {
	bytes int
	o     randomtest.Options
}{
	"usual": {13_950, randomtest.Options{Generations: 8}},
	"small": {2_000, randomtest.Options{Generations: 64, Messages: 3, SampledTokens: 220, PromptTokens: 140}},
	"large": {1_000_000, randomtest.Options{Generations: 4, Messages: 10, SampledTokens: 135_000, PromptTokens: 45_000}},
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "scan":
		return scan(ctx, args[1])
	case len(args) == 2 && args[0] == "remove":
		return remove(ctx, args[1])
	case len(args) == 1 && args[0] == "engine":
		return serveEngine()
	case len(args) >= 7 && args[0] == "gateway":
		return gateways(ctx, args[1:])
	case len(args) == 3 && args[0] == "plot":
		return draws(args[1], args[2])
	case len(args) == 3 && args[0] == "credit":
		return credits(args[1], args[2])
	case len(args) == 3 && (args[0] == "thin" || args[0] == "tokens" || args[0] == "base" || args[0] == "wide" || args[0] == "real"):
		return makes(ctx, args[0], args[1], args[2], "usual")
	case len(args) == 4 && args[0] == "wide":
		return makes(ctx, args[0], args[1], args[2], args[3])
	}
	return fmt.Errorf("want thin ROWS URI, tokens ROWS URI, base ROWS URI, wide BYTES URI [SHAPE], real ROWS URI, scan SCORES, remove URI, plot JSONL SVG or credit JSONL SVG")
}

// makes makes a dataset; shape is that of a wide one.
func makes(ctx context.Context, what, much, uri, shape string) error {
	size, err := strconv.ParseFloat(much, 64)
	if err != nil {
		return err
	}
	n := int(size)
	rollout, score := storage.Join(uri, "rollout"), storage.Join(uri, "score")
	switch what {
	case "wide":
		shape, is := shapes[shape]
		if !is {
			return fmt.Errorf("no such shape: usual, small or large")
		}
		o := shape.o
		o.Groups, o.Scored = max(1, n/shape.bytes/o.Generations), true
		return write(ctx, rollout, "", o)
	case "real":
		return write(ctx, rollout, "", randomtest.Options{Groups: max(1, n/generations), Generations: generations,
			Messages: 20, SampledTokens: 2000, Failures: 0.05})
	case "base":
		score = ""
	}
	o := randomtest.Options{Groups: max(1, n/generations), Generations: generations, Scored: true,
		Messages: 3, SampledTokens: 4, PromptTokens: 4, NoTokens: true, Failures: 0.02, Unscored: 0.01}
	if what == "tokens" {
		o.Messages, o.SampledTokens, o.PromptTokens, o.NoTokens = 5, 48, 24, false
	}
	return write(ctx, rollout, score, o)
}

// states are those of manifests: which rewards scores have.
var states = map[string]json.RawMessage{"score": json.RawMessage(`{"rewards":[{"name":"solved","weight":0.8,"kind":"expr","arguments":"1"},` +
	`{"name":"style","weight":0.2,"kind":"expr","arguments":"1"},{"name":"t","weight":0,"kind":"teacher","arguments":"http://teacher,model=m"}]}`)}

// signals are what a teacher might say: that each token is a little less probable.
func signals(t *formats.Trajectory) (out []formats.Signal) {
	for i := range t.Messages {
		if m := &t.Messages[i]; t.Trained(i) && len(m.Logprobs) > 0 {
			s := formats.Signal{Message: int32(i), Component: "t"}
			for k, p := range m.Logprobs {
				s.Values = append(s.Values, p-float32(k%7)/100)
				s.Value += float64(s.Values[k]) / float64(len(m.Logprobs))
			}
			out = append(out, s)
		}
	}
	return out
}

// write makes rollouts, a shard on each processor, and then their scores.
func write(ctx context.Context, rollout, score string, o randomtest.Options) error {
	of := min(runtime.NumCPU(), o.Groups)
	spec := manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories, Params: map[string]any{"groups": o.Groups}}
	err := writeShards(ctx, rollout, spec, of, o, func(w *shards.TableWriter[formats.Trajectory], _ int64, rows []formats.Trajectory) error {
		return w.Write(ctx, rows)
	})
	if err != nil || score == "" {
		return err
	}
	base, err := dataset.Open(ctx, rollout, dataset.OpenOptions{})
	if err != nil {
		return err
	}
	ref := base.Ref("base", score)
	spec = manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Base: &ref, Inputs: []manifest.Ref{ref}}
	return writeShards(ctx, score, spec, of, o, func(w *shards.TableWriter[formats.Score], _ int64, rows []formats.Trajectory) error {
		scores := make([]formats.Score, len(rows))
		for i, r := range rows {
			scores[i] = formats.Score{TrajectoryID: r.TrajectoryID, ExampleID: r.ExampleID, Epoch: r.Epoch, Generation: r.Generation,
				Status: r.Status, Reward: r.Reward, Rewards: r.Rewards, Signals: signals(&r)}
		}
		return w.Write(ctx, scores)
	})
}

func writeShards[T any](ctx context.Context, uri string, spec manifest.Spec, of int, o randomtest.Options,
	add func(*shards.TableWriter[T], int64, []formats.Trajectory) error) error {
	var all errgroup.Group
	for i := range of {
		all.Go(func() error {
			s, err := shards.Begin(ctx, uri, spec, shards.Options{Shard: i, Of: of})
			if err != nil || s.UpToDate() {
				return err
			}
			first, end := i*o.Groups/of, (i+1)*o.Groups/of
			at := int64(-1)
			if spec.Base != nil {
				at = int64(first * o.Generations)
			}
			w := shards.NewTable[T](s, "", at)
			for g := first; g < end; g++ {
				if err := add(w, at, randomtest.Group(1, g, o)); err != nil {
					return err
				}
			}
			_, err = s.Commit(ctx, shards.Outcome{State: states[spec.Stage]})
			return err
		})
	}
	return all.Wait()
}

// scan reads the three columns that it takes, a slice on each processor.
func scan(ctx context.Context, uri string) error {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	if err != nil {
		return err
	}
	type row struct {
		ExampleID string   `parquet:"example_id,dict"`
		Status    string   `parquet:"status,dict"`
		Reward    *float64 `parquet:"reward,optional"`
	}
	slices := runtime.NumCPU()
	groups, spread, advantages := make([]int, slices), make([]float64, slices), make([]float64, slices)
	var all errgroup.Group
	for i := range slices {
		all.Go(func() error {
			estimator, err := estimators.GRPO.Make(estimators.GRPO.New(), group.Setup{Compat: group.CompatNone})
			if err != nil {
				return err
			}
			g := group.Grouper{Estimator: estimator, Setup: group.Setup{Tolerance: training.FlatTolerance, Solved: 1}}
			slice, err := d.Slice(ctx, i, slices)
			if err != nil {
				return err
			}
			var members []formats.Member
			return dataset.Groups(ctx, d, "", slice, func(r *row) string { return r.ExampleID }, func(_ int64, rows []row) error {
				members = members[:0]
				for _, r := range rows {
					members = append(members, formats.Member{ExampleID: r.ExampleID, Status: r.Status, Reward: r.Reward})
				}
				s, err := g.Fill(members, nil)
				if err != nil {
					return err
				}
				groups[i]++
				if s.StdPop != nil {
					spread[i] += *s.StdPop
				}
				for k := range members {
					if a := members[k].Advantage; a != nil {
						advantages[i] += *a * *a
					}
				}
				return nil
			})
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	n, s, a := 0, 0.0, 0.0
	for i := range slices {
		n, s, a = n+groups[i], s+spread[i], a+advantages[i]
	}
	fmt.Printf("%d groups, mean std %.9f, sum of squared advantages %.6f\n", n, s/float64(n), a)
	return nil
}

// remove deletes everything at a URI.
func remove(ctx context.Context, uri string) error {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return err
	}
	var all errgroup.Group
	all.SetLimit(16)
	for object, err := range b.List(ctx, "") {
		if err != nil {
			_ = all.Wait()
			return err
		}
		all.Go(func() error { return b.Delete(ctx, object.Key) })
	}
	return all.Wait()
}
