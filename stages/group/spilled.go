package group

import (
	"github.com/rollmill/rollmill/formats/training"
)

import "github.com/rollmill/rollmill/formats"

// spilledRow is what a group's numbers need of a row. Package spill encodes it.
type spilledRow struct {
	Epoch                  int32
	Key, ExampleID, Status string
	ForkCall               *int32
	Reward                 *float64
	Rewards                []formats.NamedReward // nil unless the estimator looks at them
	ShapedRewards          []float64
	Length                 Length
}

func (r *spilledRow) member() formats.Member {
	return formats.Member{Epoch: r.Epoch, GroupID: formats.GroupID(r.Key, int(r.Epoch)), ExampleID: r.ExampleID,
		Status: r.Status, ForkCall: r.ForkCall, Reward: r.Reward, Rewards: r.Rewards, ShapedRewards: r.ShapedRewards}
}

type rowResult struct {
	GroupID     string
	First       int64 // the group's first row
	Advantage   *float64
	NoAdvantage string
	Advantages  []training.MessageAdvantage
	Losses      []training.MessageLoss
	Group       *groupResult // in the group's first row; else nil
}

type groupResult struct {
	Stats          formats.GroupStats
	Size           training.AdvantageSize
	Compared, Flat bool // Flat: its rewards are
}
