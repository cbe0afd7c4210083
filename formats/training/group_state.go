package training

// Why an advantage is null (column no_advantage).
const (
	NoAdvantageFailed    = "failed"    // the trajectory failed or was skipped
	NoAdvantageUnscored  = "unscored"  // its reward is null
	NoAdvantageSingleton = "singleton" // nothing to compare it with
)

// GroupState is the state in a group dataset's manifest: how its advantages
// were computed, and what remains to be done with them. curate passes it on.
type GroupState struct {
	Estimator string             `json:"estimator"`
	Compat    string             `json:"compat"`
	NoScale   bool               `json:"no_scale,omitempty"`
	Settings  map[string]any     `json:"settings,omitempty"` // of the estimator itself; those at their defaults are absent
	Tolerance float64            `json:"flat_tolerance"`
	Solved    *float64           `json:"solved_threshold,omitempty"` // null: the advantages do not depend on it
	Baselines map[string]float64 `json:"baselines,omitempty"`        // of estimator rae after the last row, by role
	Batch     *BatchStep         `json:"batch,omitempty"`            // done by curate
	Whiten    *Whitening         `json:"whiten,omitempty"`           // done by the trainer; never by rollmill
}

// BatchStep normalizes the values that an estimator computed into advantages,
// over all members that have one: (a - mean) / (std + epsilon). Of BatchNonZero,
// the share takes the place of the std; it counts as 1 if it is 0.
type BatchStep struct {
	Of      string  `json:"of"`         // of which values the std is: BatchRewards, BatchAdvantages or BatchNonZero
	Center  bool    `json:"center"`     // false: the mean is not subtracted
	Sample  bool    `json:"sample_std"` // divisor n-1
	Epsilon float64 `json:"epsilon"`
}

// The values whose moments a batch step uses (field of in BatchStep).
const (
	BatchRewards    = "rewards"
	BatchAdvantages = "advantages"
	BatchNonZero    = "nonzero" // the share of rewards that are not 0
)

// Whitening is a normalization over tokens, in which long trajectories have
// more weight: (a - mean) / sqrt(max(variance, floor) + epsilon), where every
// sampled token of the batch counts its trajectory's advantage once. Only the
// trainer knows which tokens it masks, so the step is left to it.
type Whitening struct {
	Sample  bool    `json:"sample_variance"` // divisor n-1
	Epsilon float64 `json:"epsilon"`
	Floor   float64 `json:"floor"`
}

// MessageAdvantage is the advantage of a sampled message whose tokens do not have that
// of the trajectory.
type MessageAdvantage struct {
	Message int32     `parquet:"message,delta"` // its index in messages
	Value   float64   `parquet:"value"`         // of each of its tokens; their mean, when Tokens has one for each
	Tokens  []float32 `parquet:"tokens,optional,list" parquet-element:",split"`
}

// MessageLoss is a loss that a sampled message trains with. A message without any trains
// with LossRL, of weight 1.
type MessageLoss struct {
	Message   int32     `parquet:"message,delta"` // its index in messages
	Loss      string    `parquet:"loss,dict"`     // one of Losses
	Weight    float64   `parquet:"weight"`        // of each of its tokens in the loss; not 0
	Reference []float32 `parquet:"reference,optional,list" parquet-element:",split"`
}

// The losses of a message's tokens (column losses.loss), as prime-rl has them.
const (
	LossRL    = "rl"     // the policy gradient, by the advantage
	LossCE    = "ce"     // cross-entropy: the tokens are right
	LossRefKL = "ref_kl" // the reverse KL divergence from the model of Reference
)

// Losses is the closed list.
var Losses = []string{LossRL, LossCE, LossRefKL}
