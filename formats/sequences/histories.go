package sequences

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
)

// History is a path through a trajectory's tree on which something trains.
type History struct {
	Path   []int // indexes of messages, from the root to the leaf
	Trains []int // those that train in this history, in order; never empty
}

// Histories returns the histories of a trajectory. Each message that trains is in
// Trains of exactly one.
func Histories(t *formats.Trajectory) []History {
	taken := make([]bool, len(t.Messages))
	var out []History
	add := func(path []int) {
		h := History{Path: path}
		for _, i := range path {
			if !taken[i] && t.Trained(i) {
				taken[i] = true
				h.Trains = append(h.Trains, i)
			}
		}
		if h.Trains != nil {
			out = append(out, h)
		}
	}
	main := t.Main()
	add(main)
	for _, leaf := range t.Leaves() {
		if len(main) == 0 || leaf != main[len(main)-1] {
			add(t.Path(leaf))
		}
	}
	return out
}

// Column reports whether sequences are made from a column of a trajectory's
// payload: its tokens, and what places them in the tree.
func Column(name string) bool { return columns[name] }

var columns = map[string]bool{
	"messages.parent": true, "messages.role": true, "messages.content_parts": true, "messages.sampled": true, "messages.call": true,
	"messages.branch": true, "messages.prefix_break": true,
	"messages.token_ids": true, "messages.logprobs": true, "messages.prompt_delta_ids": true,
	"calls.target": true, "calls.policy_version": true,
	"candidates.token_ids": true, // counted, and in no sequence
}

// Memory makes sequences, in memory that it uses again after Reset. The zero value
// is ready. It is for one goroutine.
type Memory struct {
	ids      arena[int32]
	mask     arena[bool]
	logprobs arena[float32]
}

// Reset ends the use of all sequences that were made.
func (m *Memory) Reset() {
	m.ids.reset()
	m.mask.reset()
	m.logprobs.reset()
}

// arena hands out slices of one array.
type arena[T any] struct {
	free []T
	all  []T
}

// take returns n elements of any value.
func (a *arena[T]) take(n int) []T {
	if n > len(a.free) {
		a.all = make([]T, max(n, 2*len(a.all))) // slices of the array before stay valid
		a.free = a.all
	}
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}

func (a *arena[T]) reset() { a.free = a.all }

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
