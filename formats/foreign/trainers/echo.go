package trainers

import "github.com/rollmill/rollmill/formats/jsontext"

// EchoRow is what a trainer gives back of one SequenceRow: a file of them, in any order, is its
// echo of the batch. Every column but the first may be missing. Lists are aligned with the
// sequence's response_ids; where its loss_mask is false, any value will do.
type EchoRow struct {
	TrajectoryID string          `parquet:"trajectory_id" json:"trajectory_id"`
	Sequence     int32           `parquet:"sequence" json:"sequence"` // its number in the trajectory, from 0
	Old          jsontext.Floats `parquet:"old_logprobs,optional,list" json:"old_logprobs"`
	New          jsontext.Floats `parquet:"new_logprobs,optional,list" json:"new_logprobs"`
	Reference    jsontext.Floats `parquet:"ref_logprobs,optional,list" json:"ref_logprobs"`
	Entropy      jsontext.Floats `parquet:"entropies,optional,list" json:"entropies"`
	Clipped      *float64        `parquet:"clip_share,optional" json:"clip_share"` // of its trained tokens, in the last pass
	Loss         *float64        `parquet:"loss,optional" json:"loss"`             // mean over its trained tokens
}
