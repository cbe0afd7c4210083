package sequences

// Per is what is worth the same in training.
type Per string

// What is worth the same.
const (
	Trajectory   Per = "trajectory"
	EachSequence Per = "sequence"
	Token        Per = "token"
)

// Pers lists them, in the order of help.
var Pers = []Per{Trajectory, EachSequence, Token}

// Aggregate is how a trainer adds up the loss of tokens.
type Aggregate string

// How trainers aggregate.
const (
	TokenMean    Aggregate = "token mean"    // the mean over all tokens of a batch, or their sum over a constant
	SequenceMean Aggregate = "sequence mean" // the mean over sequences of the mean over their tokens

	// the mean over trajectories of the mean over the tokens of all their sequences
	TrajectoryMean Aggregate = "trajectory mean"
)

// Totals count a batch.
type Totals struct {
	Trajectories int64 `json:"trajectories"` // that give sequences
	Sequences    int64 `json:"sequences"`
	Tokens       int64 `json:"tokens"` // that train
}

// Add counts the sequences of one trajectory.
func (t *Totals) Add(list []Sequence) {
	if len(list) > 0 {
		t.Trajectories++
	}
	t.Sequences += int64(len(list))
	t.Tokens += Tokens(list)
}

// Tokens returns how many tokens of a trajectory train.
func Tokens(list []Sequence) (n int64) {
	for i := range list {
		n += int64(list[i].Tokens)
	}
	return n
}

// Weights are those of a batch's sequences. Nil gives each the weight 1.
type Weights struct {
	Per Per
	Totals
}

// Of returns the weight of a sequence for a trainer that aggregates in a way. list
// is all sequences of its trajectory. It is positive.
func (w *Weights) Of(by Aggregate, s *Sequence, list []Sequence) float64 {
	if w == nil {
		return 1
	}
	return w.share(w.Per, s, list) / w.share(per(by), s, list)
}

// per returns what an aggregation without weights makes worth the same.
func per(by Aggregate) Per {
	switch by {
	case SequenceMean:
		return EachSequence
	case TrajectoryMean:
		return Trajectory
	}
	return Token
}

// share returns the coefficient of a token of a sequence, relative to the mean
// over all tokens of the batch.
func (w *Weights) share(per Per, s *Sequence, list []Sequence) float64 {
	switch per {
	case Trajectory:
		return float64(w.Tokens) / float64(w.Trajectories) / float64(Tokens(list))
	case EachSequence:
		return float64(w.Tokens) / float64(w.Sequences) / float64(s.Tokens)
	}
	return 1
}
