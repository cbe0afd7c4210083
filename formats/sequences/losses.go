package sequences

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
)

// Losses are the weights of a response's tokens in the three losses, 0 where Mask is
// false. Each loss is a mean over the tokens whose weight in it is not 0.
type Losses struct {
	RL, CE, RefKL []float32
	Reference     []float32 // log probabilities under the model that RefKL compares with, in nats; 0 where RefKL is
}

func newLosses(n int) *Losses {
	all := make([]float32, 4*n)
	return &Losses{all[:n:n], all[n : 2*n : 2*n], all[2*n : 3*n : 3*n], all[3*n:]}
}

// learn sets the weights of a message's tokens, which are those from start to end.
func (l *Losses) learn(t *formats.Trajectory, message, start, end int) {
	known := false
	for _, loss := range t.Losses {
		if int(loss.Message) != message {
			continue
		}
		known = true
		weights := map[string][]float32{training.LossRL: l.RL, training.LossCE: l.CE, training.LossRefKL: l.RefKL}[loss.Loss]
		fill(weights[start:end], float32(loss.Weight))
		copy(l.Reference[start:end], loss.Reference)
	}
	if !known {
		fill(l.RL[start:end], 1)
	}
}

func fill(out []float32, value float32) {
	for k := range out {
		out[k] = value
	}
}
