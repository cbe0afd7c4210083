package formats

// Score is a thin row: the scores of the base row at the same position.
type Score struct {
	Carried

	TrajectoryID  string        `parquet:"trajectory_id"`
	ExampleID     string        `parquet:"example_id,dict"`
	Epoch         int32         `parquet:"epoch,delta"`
	Generation    int32         `parquet:"generation,delta"`
	Status        string        `parquet:"status,dict"` // the trajectory's, repeated so that this dataset can be read alone
	Reward        *float64      `parquet:"reward,optional"`
	Rewards       []NamedReward `parquet:"rewards,list"`
	ShapedRewards []float64     `parquet:"shaped_rewards,optional,list"`
	Failure       string        `parquet:"failure,optional,dict"` // why reward is null: one of RewardFailures
	Error         string        `parquet:"error,optional"`
}

// Why a reward is null (columns failure, rewards.failure).
const (
	RewardTrajectory = "trajectory" // the trajectory itself failed or was skipped
	RewardMissing    = "missing"    // not computed, or a field that it reads is missing
	RewardCrashed    = "crashed"    // the program or service ended
	RewardTimeout    = "timeout"
	RewardAnswer     = "answer"    // its answer was invalid
	RewardNotFinite  = "nonfinite" // NaN or an infinity
	RewardError      = "error"     // it reported a failure, or the expression failed
	RewardComponent  = "component" // a component of a weighted sum has no value
)

// RewardFailures is the closed list.
var RewardFailures = []string{RewardTrajectory, RewardMissing, RewardCrashed, RewardTimeout, RewardAnswer, RewardNotFinite,
	RewardError, RewardComponent}
