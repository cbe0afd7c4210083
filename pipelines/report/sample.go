package report

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/model"
)

// maxTrajectories is how many trajectories the page shows.
const maxTrajectories = 200

// pick is a trajectory that the page may show.
type pick struct {
	hash uint64
	row  int64
	id   string
}

// stratum is a rollout from which trajectories are sampled: that of training or of
// validation, of one epoch.
type stratum struct {
	Epoch      int
	Validation bool

	d      *dataset.Dataset
	thin   *dataset.Dataset // its groups, else its scores; nil for neither
	wanted map[string]bool  // ids to show in any case
	must   int              // of these that are in picks, the first ones
	picks  []pick           // those with the lowest hashes, sorted
}

// Add offers a row. Which rows are sampled depends on the run and on their ids alone,
// not on their order.
func (s *stratum) Add(seed uint64, row int64, id string) {
	p := pick{xxh3.HashStringSeed(id, seed), row, id}
	if s.wanted[id] { // before all others
		p.hash = 0
		s.must++
	}
	if len(s.picks) == maxTrajectories && p.hash >= s.picks[len(s.picks)-1].hash {
		return
	}
	p.id = string([]byte(id))
	at, _ := slices.BinarySearchFunc(s.picks, p, func(a, b pick) int { return cmp.Compare(a.hash, b.hash) })
	s.picks = slices.Insert(s.picks, at, p)
	s.picks = s.picks[:min(len(s.picks), maxTrajectories)]
}

// seedOf returns the seed of a run's sample.
func seedOf(run history.Run) uint64 {
	id := ""
	for _, e := range run.Epochs {
		id = cmp.Or(id, e.RunID)
	}
	sum := xxh3.HashString128(id).Bytes()
	return binary.BigEndian.Uint64(sum[:8])
}

// choose keeps those that must be shown, and takes the others in turns from every
// stratum, the last epochs first.
func choose(strata []*stratum, limit int) {
	left, taken := limit, make([]int, len(strata))
	for i, s := range strata {
		left, taken[i] = left-s.must, s.must
	}
	for more := true; left > 0 && more; {
		more = false
		for i := len(strata) - 1; i >= 0 && left > 0; i-- {
			if taken[i] < len(strata[i].picks) {
				taken[i]++
				left--
				more = true
			}
		}
	}
	for i, s := range strata {
		s.picks = s.picks[:taken[i]]
		slices.SortFunc(s.picks, func(a, b pick) int { return cmp.Compare(a.row, b.row) })
	}
}

// read calls f with each chosen row, in order, with its rewards and what followed from them.
func (s *stratum) read(ctx context.Context, f func(*model.Conversation)) error {
	rows, ids := make([]int64, len(s.picks)), make([]string, len(s.picks))
	for i, p := range s.picks {
		rows[i], ids[i] = p.row, p.id
	}
	return model.EachConversation(ctx, cmp.Or(s.thin, s.d), rows, ids, f)
}
