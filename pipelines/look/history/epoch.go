package history

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/funnel"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/storage"
)

// Add adds what the manifest of a finished stage says: all but what only its rows
// have, such as bands and named rewards. The stages of an epoch are added in the order
// of the data, those of its last scored extension, and of the validation first.
// Everything that counts an epoch does it with Add, so that sums agree everywhere.
func (e *Epoch) Add(stage string, made funnel.Stage) {
	if e.Made.Stages == nil {
		e.Made.Stages, e.Seconds, e.Datasets, e.Facts = map[string]funnel.Stage{}, map[string]float64{}, map[string]string{}, prices.Facts{}
	}
	e.Made.Stages[stage] = made
	m := made.Manifest
	if m == nil {
		return
	}
	e.Facts[stage] = m.Facts
	for _, s := range m.Timings {
		e.Seconds[stage] += s
	}
	e.Datasets[stage] = made.Digest
	switch stage {
	case "validation/rollout":
		e.Cost.Add(m.Facts)
	case "validation/score":
		e.Validation = scored(m)
	case "rollout":
		e.RunID, _ = m.Params["run"].(string)
		e.Failures = m.Failures
		e.Cost.Add(m.Facts)
		e.Train = &Sample{Trajectories: m.Rows, Failed: m.Counts[outcomes.StatusFailed]}
	case "score":
		e.Train = scored(m)
	case "group": // as group counted, so that a flat group is one everywhere
		e.Flat = int64(m.Facts["groups_flat"])
		if e.Train != nil {
			e.Train.Groups = int64(m.Facts["groups"]) // forks are none
		}
	case "curate":
		e.Kept, e.Drops = &Sample{Trajectories: m.Rows, Groups: int64(m.Facts["groups_kept"])}, m.Drops
	}
}

// scored returns the sample that a score dataset's manifest describes: the sums that
// it has give the mean, but not its band.
func scored(m *manifest.Manifest) *Sample {
	n := m.Counts["scored"]
	s := &Sample{Scored: n, Failed: m.Counts["failed"], Trajectories: n + m.Counts["unscored"] + m.Counts["failed"]}
	if n > 0 {
		s.Mean = new(m.Facts["reward_sum"] / float64(n))
	}
	return s
}

// stageNames are the stages of an epoch that write datasets, in the order of the data.
var stageNames = []string{"validation/rollout", "validation/score", "rollout", "score", "group", "curate"}

// stageURI returns where a stage writes: the validation beside the epoch, others in its last
// extension.
func stageURI(epoch, last, name string) string {
	if strings.HasPrefix(name, "validation/") {
		return storage.Join(epoch, name)
	}
	return storage.Join(last, name)
}

// Stage is a finished stage of an epoch.
type Stage struct {
	Name string // as rollout, or validation/score
	*dataset.Dataset
}

// Stages returns the datasets of an epoch that are finished, in the order of the data:
// those of its last extension, if there is one.
func Stages(ctx context.Context, root string, epoch int) (out []Stage, err error) {
	dir := run.Layout{Root: root}.Epoch(epoch)
	last, err := Last(ctx, dir, "score")
	if err != nil {
		return nil, err
	}
	for _, name := range stageNames {
		d, err := Open(ctx, stageURI(dir, last, name))
		if err != nil {
			return nil, err
		}
		if d != nil {
			out = append(out, Stage{name, d})
		}
	}
	return out, nil
}

// readScores reads the further score datasets of an epoch, whose folders are beside
// the epoch's last ones, and beside those of its validation.
func (e *Epoch) readScores(ctx context.Context, dir, last string) error {
	for _, in := range []string{"", "validation/"} {
		if in != "" {
			last = dir
		}
		b, err := storage.Open(ctx, last)
		if err != nil {
			return err
		}
		for o, err := range b.Level(ctx, in) {
			if err != nil {
				return err
			}
			name, folder := strings.CutSuffix(o.Key, "/")
			if !folder || !run.OfUser(path.Base(name)) {
				continue
			}
			d, err := Open(ctx, storage.Join(last, name))
			if err != nil {
				return err
			}
			if d == nil || d.Kind != schema.KindScores {
				continue
			}
			if e.Scores == nil {
				e.Scores = map[string]*Sample{}
			}
			e.Facts[name] = d.Facts
			if e.Scores[name], err = sampleOf(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// ScoreNames returns the names of the further score datasets of all epochs.
func ScoreNames(epochs []Epoch) []string {
	names := map[string]*Sample{}
	for _, e := range epochs {
		maps.Copy(names, e.Scores)
	}
	return slices.Sorted(maps.Keys(names))
}

// ScoresOf returns the function that finds the dataset of a name in an epoch.
func ScoresOf(name string) func(Epoch) *Sample {
	return func(e Epoch) *Sample { return e.Scores[name] }
}
