package history

import (
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Add adds what the manifest of a finished stage says: all but what only its rows
// have, such as bands and named rewards. The stages of an epoch are added in the order
// of the data, those of its last scored extension, and of the validation first.
// Everything that counts an epoch does it with Add, so that sums agree everywhere. The
// digest is that of references to the dataset.
func (e *Epoch) Add(stage string, m *manifest.Manifest, digest string) {
	if e.Seconds == nil {
		e.Seconds = map[string]float64{}
	}
	for _, s := range m.Timings {
		e.Seconds[stage] += s
	}
	if e.Datasets == nil {
		e.Datasets = map[string]string{}
	}
	e.Datasets[stage] = digest
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
		mean := m.Facts["reward_sum"] / float64(n)
		s.Mean = &mean
	}
	return s
}
