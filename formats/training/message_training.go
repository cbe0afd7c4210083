package training

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
