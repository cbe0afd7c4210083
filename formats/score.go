package formats

// Score is a thin row: the scores of the base row at the same position.
type Score struct {
	TrajectoryID  string        `parquet:"trajectory_id"`
	ExampleID     string        `parquet:"example_id,dict"`
	Epoch         int32         `parquet:"epoch,delta"`
	Generation    int32         `parquet:"generation,delta"`
	ForkedFrom    string        `parquet:"forked_from,optional"`
	ForkCall      *int32        `parquet:"fork_call,optional"`
	Status        string        `parquet:"status,dict"` // the trajectory's, repeated so that this dataset can be read alone
	Reward        *float64      `parquet:"reward,optional"`
	Rewards       []NamedReward `parquet:"rewards,list"`
	ShapedRewards []float64     `parquet:"shaped_rewards,optional,list"`
	Signals       []Signal      `parquet:"signals,optional,list"`
	Failure       string        `parquet:"failure,optional,dict"` // why reward is null: one of RewardFailures
	Error         string        `parquet:"error,optional"`
}

// Signal is what a reward says of one sampled message beside the trajectory's reward: a
// number, or one for each of its tokens.
type Signal struct {
	Message     int32     `parquet:"message,delta"`  // its index in messages
	Component   string    `parquet:"component,dict"` // the reward's name
	Value       float64   `parquet:"value"`          // the mean of Values, if there are any
	Values      []float32 `parquet:"values,optional,list" parquet-element:",split"`
	TopIDs      []int32   `parquet:"top_ids,optional,list"` // a teacher's most probable ids: as many for each token, best first
	TopLogprobs []float32 `parquet:"top_logprobs,optional,list" parquet-element:",split"`
}

// WeightedSum adds up the rewards of a row, each times its weight, and counts them. Those
// of weight 0 do not count, even when they have no value; missing is the first of the
// others that has none.
func WeightedSum(rewards []NamedReward) (sum float64, counting int, missing *NamedReward) {
	for i := range rewards {
		r := &rewards[i]
		if r.Weight == 0 {
			continue
		}
		if counting++; r.Value != nil {
			sum += float64(r.Weight * *r.Value) // the conversion forbids a fused multiply-add: .ci/fused
		} else if missing == nil {
			missing = r
		}
	}
	return sum, counting, missing
}
