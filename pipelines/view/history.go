package view

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/storage"
)

// historyFiles are the report's files that the run page reads.
var historyFiles = []string{"training_metrics.jsonl", "reward_history.json", "validation_history.json"}

// history keeps what the report's files say until they change.
type history struct {
	mu     sync.Mutex
	of     string // the times of the files
	epochs []report.Epoch
	err    error
}

// read returns the epochs that the report's files have; none without them. A damaged
// file is an error.
func (h *history) read(ctx context.Context, b *storage.Bucket, l *listing) ([]report.Epoch, error) {
	if _, made := l.files[historyFiles[0]]; !made {
		return nil, nil
	}
	var times []string
	for _, name := range historyFiles {
		times = append(times, l.files[name].ModTime.String())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if of := strings.Join(times, " "); h.of != of {
		epochs, err := report.ReadHistory(ctx, b)
		if err != nil && !errors.Is(err, formats.ErrInvalid) {
			return nil, err // the next request reads again
		}
		h.of, h.epochs, h.err = of, epochs, err
	}
	return h.epochs, h.err
}

// mostCounted is how many epochs without a history are counted by their manifests, in
// a bucket, where each manifest is a request.
const mostCounted = 8

// counted returns the epochs of a run: what the report's files say and, of epochs that
// they do not have or that changed since, what manifests say. partial are the
// latter, left the epochs of which nothing is known but the datasets.
func (s *Server) counted(ctx context.Context, l *listing, known []report.Epoch) (all []report.Epoch, partial, left []int, err error) {
	of := map[int]report.Epoch{}
	for _, e := range known {
		of[e.Epoch] = e
	}
	made := l.files[historyFiles[0]].ModTime
	_, local := s.bucket.Local()
	var missing []int
	for e, found := range l.epochs() {
		_, has := of[e]
		changed := slices.ContainsFunc(found, func(f *Found) bool { return f.Written.After(made) })
		if e >= 0 && (!has || changed) {
			missing = append(missing, e)
		}
	}
	slices.Sort(missing)
	if n := len(missing); !local && n > mostCounted {
		missing, left = missing[n-mostCounted:], missing[:n-mostCounted]
	}
	out := make([]report.Epoch, len(missing))
	var g errgroup.Group
	g.SetLimit(16)
	for i, e := range missing {
		g.Go(func() (err error) {
			out[i], err = s.count(ctx, l, e)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, nil, err
	}
	for _, e := range out {
		if e.Train != nil || e.Validation != nil {
			of[e.Epoch], partial = e, append(partial, e.Epoch)
		}
	}
	return slices.SortedFunc(maps.Values(of), func(a, b report.Epoch) int { return cmp.Compare(a.Epoch, b.Epoch) }), partial, left, nil
}

// count returns what the manifests of an epoch say.
func (s *Server) count(ctx context.Context, l *listing, epoch int) (report.Epoch, error) {
	e := report.Epoch{Epoch: epoch, Seconds: map[string]float64{}}
	for _, stage := range []string{"validation/score", "rollout", "score", "group", "curate"} {
		f := l.stage(epoch, stage)
		if f == nil || !f.Complete {
			continue
		}
		d, err := s.open(ctx, f)
		if err != nil {
			return e, err
		}
		for _, t := range d.Timings {
			e.Seconds[stage] += t
		}
		switch stage {
		case "validation/score":
			e.Validation = meanOf(d.Counts, d.Facts)
		case "rollout":
			e.Time, e.Failures = f.Written.UTC(), d.Failures
			e.RunID, _ = d.Params["run"].(string)
			e.Cost = report.Cost{Calls: int64(d.Facts["calls"]), PromptTokens: int64(d.Facts["prompt_tokens"]), CompletionTokens: int64(d.Facts["completion_tokens"])}
			e.Train = &report.Sample{Trajectories: d.Rows, Failed: d.Counts[formats.StatusFailed]}
		case "score":
			e.Train = meanOf(d.Counts, d.Facts)
		case "group":
			if e.Flat = int64(d.Facts["groups_flat"]); e.Train != nil {
				e.Train.Groups = int64(d.Facts["groups"])
			}
		case "curate":
			e.Kept, e.Drops = &report.Sample{Trajectories: d.Rows, Groups: int64(d.Facts["groups_kept"])}, d.Drops
		}
	}
	return e, nil
}

// meanOf returns the sample that a score dataset's manifest describes: the sums that
// it has give the mean, but not its band.
func meanOf(counts map[string]int64, facts map[string]float64) *report.Sample {
	s := &report.Sample{Scored: counts["scored"], Failed: counts["failed"], Trajectories: counts["scored"] + counts["unscored"] + counts["failed"]}
	if s.Scored > 0 {
		mean := facts["reward_sum"] / float64(s.Scored)
		s.Mean = &mean
	}
	return s
}
