package outcomes

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
