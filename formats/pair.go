package formats

// Pair is a row of _pairs: two continuations of the same prompt, one better.
// Prompt, Chosen and Rejected are JSON arrays of chat messages as in the OpenAI
// API, so that the table can be read alone.
type Pair struct {
	ExampleID  string `parquet:"example_id,dict"` // of the chosen one, if the group has several
	GroupID    string `parquet:"group_id,dict"`
	Epoch      int32  `parquet:"epoch,delta"`
	Turn       string `parquet:"turn,optional,dict"` // null: whole trajectories from where they diverge
	ChosenID   string `parquet:"chosen_id"`
	RejectedID string `parquet:"rejected_id"`
	// the message where the two diverge; for a turn the index in candidates
	ChosenIndex   int32   `parquet:"chosen_index,delta"`
	RejectedIndex int32   `parquet:"rejected_index,delta"`
	ChosenScore   float64 `parquet:"chosen_score"`
	RejectedScore float64 `parquet:"rejected_score"`
	Margin        float64 `parquet:"margin"` // difference of the scores
	Prompt        string  `parquet:"prompt"`
	Chosen        string  `parquet:"chosen"`
	Rejected      string  `parquet:"rejected"`
	Tools         string  `parquet:"tools,optional"` // a JSON array
}

// Size returns the bytes of a pair's texts.
func (p *Pair) Size() int { return len(p.Prompt) + len(p.Chosen) + len(p.Rejected) + len(p.Tools) }

// Size returns the bytes of a label's texts.
func (l *Label) Size() int { return len(l.Prompt) + len(l.Completion) + len(l.Tools) }

// PairBytes is the size of pairs or labels at which their writer ends a row
// group: each repeats its prompt, and a row group is held in memory.
const PairBytes = 4 << 20

// Label is a row of _labels: a trajectory that is desirable or not, for
// trainers that learn from single answers (KTO). Prompt and Completion are JSON
// arrays of chat messages.
type Label struct {
	TrajectoryID string  `parquet:"trajectory_id"`
	ExampleID    string  `parquet:"example_id,dict"`
	GroupID      string  `parquet:"group_id,dict"`
	Epoch        int32   `parquet:"epoch,delta"`
	Generation   int32   `parquet:"generation,delta"`
	Desirable    bool    `parquet:"desirable"`
	Reward       float64 `parquet:"reward"`
	Prompt       string  `parquet:"prompt"`
	Completion   string  `parquet:"completion"`
	Tools        string  `parquet:"tools,optional"` // a JSON array
}

// KTOWeights returns the weights that balance desirable and undesirable labels
// as TRL recommends: desirable weight times count over undesirable weight times
// count is in [1, 4/3]. Weights are at least 1 and the smallest that achieve
// this; without labels of both kinds both are 1.
func KTOWeights(desirable, undesirable int64) (d, u float64) {
	if desirable == 0 || undesirable == 0 {
		return 1, 1
	}
	switch ratio := float64(desirable) / float64(undesirable); {
	case ratio < 1:
		return 1 / ratio, 1
	case ratio > 4.0/3:
		return 1, ratio / (4.0 / 3)
	}
	return 1, 1
}
