package randomtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
)

// head is what the rows of one trajectory in all datasets have in common.
type head struct {
	seed             int64
	group            int
	o                Options
	id, example      string
	generation       int
	status, stop     string
	failure          string
	reward, solution float64
	scored           bool
}

func newHead(seed int64, group, generation int, o Options) head {
	r := rand.New(rand.NewPCG(uint64(seed), uint64(group)<<20|uint64(generation)))
	h := head{
		seed: seed, group: group, o: o, example: fmt.Sprintf("example-%06d", group), generation: generation,
		status: outcomes.StatusOK, stop: outcomes.StopDone,
	}
	h.id = formats.TrajectoryID(o.Run, h.example, o.Epoch, generation)
	if r.Float64() < o.Failures {
		switch r.IntN(3) {
		case 0:
			h.status, h.stop, h.failure = outcomes.StatusFailed, outcomes.StopError, failures[r.IntN(len(failures))]
		case 1:
			h.status, h.stop = outcomes.StatusTruncated, outcomes.StopLength
		case 2:
			h.status, h.stop = outcomes.StatusSkipped, outcomes.StopSkipped
		}
	}
	h.solution = float64(r.IntN(2))
	h.reward = float64(h.solution*0.8) + float64(r.Float64()*0.2)
	h.scored = r.Float64() >= o.Unscored && h.valid()
	return h
}

var failures = []string{outcomes.FailAgentExit, outcomes.FailTimeout, outcomes.FailEngine, outcomes.FailNoLogprobs}

func (h head) valid() bool {
	return h.status == outcomes.StatusOK || h.status == outcomes.StatusTruncated
}

// rewards returns the total, its components, and the reason when there is no
// total.
func (h head) rewards() (*float64, []formats.NamedReward, string) {
	switch {
	case !h.valid():
		return nil, nil, outcomes.RewardTrajectory
	case !h.scored:
		crashed := formats.NamedReward{Name: "solved", Weight: 0.8, Failure: outcomes.RewardCrashed, Error: "exit status 1"}
		return nil, []formats.NamedReward{crashed}, outcomes.RewardComponent
	}
	style := (h.reward - float64(0.8*h.solution)) / 0.2
	return &h.reward, []formats.NamedReward{
		{Name: "solved", Value: &h.solution, Weight: 0.8},
		{Name: "style", Value: &style, Weight: 0.2},
	}, ""
}

func (h head) score() formats.Score {
	s := formats.Score{TrajectoryID: h.id, ExampleID: h.example, Epoch: int32(h.o.Epoch), Generation: int32(h.generation),
		Status: h.status}
	s.Reward, s.Rewards, s.Failure = h.rewards()
	return s
}

func (h head) member() formats.Member {
	m := formats.Member{
		TrajectoryID: h.id, ExampleID: h.example, GroupID: formats.GroupID(h.example, h.o.Epoch),
		Epoch: int32(h.o.Epoch), Generation: int32(h.generation), Status: h.status,
	}
	m.Reward, m.Rewards, _ = h.rewards()
	return m
}

func advantages(rows []formats.Member) {
	var n, sum, square float64
	for _, m := range rows {
		if m.Reward != nil {
			n, sum = n+1, sum+*m.Reward
		}
	}
	mean := sum / n
	for _, m := range rows {
		if m.Reward != nil {
			square += float64((*m.Reward - mean) * (*m.Reward - mean))
		}
	}
	for i := range rows {
		switch m := &rows[i]; {
		case m.Status == outcomes.StatusFailed, m.Status == outcomes.StatusSkipped:
			m.NoAdvantage = training.NoAdvantageFailed
		case m.Reward == nil:
			m.NoAdvantage = training.NoAdvantageUnscored
		case n < 2:
			m.NoAdvantage = training.NoAdvantageSingleton
		default:
			a := (*m.Reward - mean) / (math.Sqrt(square/n) + 1e-6)
			m.Advantage = &a
		}
	}
}
