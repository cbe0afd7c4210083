package formats

import (
	"github.com/rollmill/rollmill/formats/training"
)

// Member is the thin row of group: a trajectory as a member of its group. It
// repeats the rewards of the scores, so that this dataset can be read alone.
type Member struct {
	TrajectoryID  string                      `parquet:"trajectory_id"`
	ExampleID     string                      `parquet:"example_id,dict"`
	GroupID       string                      `parquet:"group_id,dict"`
	Epoch         int32                       `parquet:"epoch,delta"`
	Generation    int32                       `parquet:"generation,delta"`
	ForkedFrom    string                      `parquet:"forked_from,optional"`
	ForkCall      *int32                      `parquet:"fork_call,optional"`
	Status        string                      `parquet:"status,dict"`
	Reward        *float64                    `parquet:"reward,optional"`
	Rewards       []NamedReward               `parquet:"rewards,list"`
	ShapedRewards []float64                   `parquet:"shaped_rewards,optional,list"`
	Advantage     *float64                    `parquet:"advantage,optional"`
	Advantages    []training.MessageAdvantage `parquet:"advantages,optional,list"`
	Losses        []training.MessageLoss      `parquet:"losses,optional,list"`
	NoAdvantage   string                      `parquet:"no_advantage,optional,dict"` // why advantage is null: unscored, failed, singleton
}

// GroupStats is a row of _groups: the statistics of the valid members of one
// group. A statistic without enough valid members is null.
type GroupStats struct {
	GroupID   string   `parquet:"group_id"`
	ExampleID string   `parquet:"example_id,dict"`
	Epoch     int32    `parquet:"epoch,delta"`
	Forks     bool     `parquet:"forks,optional"`  // continuations of one prefix: no attempts at the example
	FirstRow  int64    `parquet:"first_row,delta"` // the index of the group's first row in the base
	Count     int32    `parquet:"count,delta"`
	Valid     int32    `parquet:"valid,delta"`
	Mean      *float64 `parquet:"mean,optional"`
	StdPop    *float64 `parquet:"std_pop,optional"`    // divisor n
	StdSample *float64 `parquet:"std_sample,optional"` // divisor n-1; null under 2 valid
	Min       *float64 `parquet:"min,optional"`
	Max       *float64 `parquet:"max,optional"`
	Spread    *float64 `parquet:"spread,optional"` // max - min
	Solved    *float64 `parquet:"solved,optional"` // share of valid members at or above the solved threshold

	SolvedCount   int32     `parquet:"solved_count,delta"`
	Failed        int32     `parquet:"failed,delta"`
	Unscored      int32     `parquet:"unscored,delta"`
	PassAtK       []float64 `parquet:"pass_at_k,optional,list"` // for k = 1, 2, ... up to valid or MaxPassAtK
	SampledTokens int64     `parquet:"sampled_tokens,delta"`    // of valid members, like all lengths
	LengthMean    *float64  `parquet:"length_mean,optional"`
	LengthMin     *int32    `parquet:"length_min,optional"`
	LengthMax     *int32    `parquet:"length_max,optional"`
}

// Flat reports whether the group gives no training signal: its advantages are 0, or without any in the batch
// the rewards of two or more are equal.
func (s *GroupStats) Flat(t training.Training) bool {
	return t == training.TrainsNothing || t == training.TrainsByRewards && s.Valid > 1 && training.Flat(*s.Min,
		*s.Max, training.FlatTolerance)
}

// MaxPassAtK is the largest k of column pass_at_k.
const MaxPassAtK = 64

// PassAtK returns the probability that, of k members drawn without replacement
// from n of which c are solved, at least one is solved: 1 - C(n-c,k)/C(n,k).
func PassAtK(n, c, k int) float64 {
	none := 1.0
	for i := range k {
		none *= float64(max(0, n-c-i)) / float64(n-i)
	}
	return 1 - none
}
