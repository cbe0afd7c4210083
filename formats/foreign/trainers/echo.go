package trainers

import (
	"encoding/json"
	"io"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/storage/fault"
)

// EchoRow is what a trainer gives back of one SequenceRow: a file of them, in any order, is its
// echo of the batch. Every column but the first may be missing. Lists are aligned with the
// sequence's response_ids; where its loss_mask is false, any value will do.
//
// The loss is the mean over the sequence's trained tokens of -weight advantage
// exp(old_logprob - logprob), and rl_weights where there are any: the importance-weighted
// policy gradient without a clip. Advantages are whitened if that is left to the trainer.
type EchoRow struct {
	TrajectoryID string          `parquet:"trajectory_id" json:"trajectory_id"`
	Sequence     int32           `parquet:"sequence" json:"sequence"` // its number in the trajectory, from 0
	Old          jsontext.Floats `parquet:"old_logprobs,optional,list" json:"old_logprobs"`
	New          jsontext.Floats `parquet:"new_logprobs,optional,list" json:"new_logprobs"`
	Reference    jsontext.Floats `parquet:"ref_logprobs,optional,list" json:"ref_logprobs"`
	Entropy      jsontext.Floats `parquet:"entropies,optional,list" json:"entropies"`
	Clipped      *float64        `parquet:"clip_share,optional" json:"clip_share"` // of its trained tokens, in the last pass
	Loss         *float64        `parquet:"loss,optional" json:"loss"`             // of the loss rl, without a clip
}

// EchoLines writes the rows of a file of JSON lines as Parquet. A row that is none is a
// fault.Error with the file and the line.
func EchoLines(from records.File, out io.Writer) error {
	lines, err := from.Read("")
	if err != nil {
		return err
	}
	w := parquet.NewWriter[EchoRow](out)
	for line, err := range lines {
		if err != nil {
			return err
		}
		var row EchoRow
		if err := json.Unmarshal(line.Object, &row); err != nil || row.TrajectoryID == "" {
			return fault.Invalid(from.Name,
				"write objects such as {\"trajectory_id\":\"3f8a\",\"sequence\":0,\"old_logprobs\":[-0.25]}", err,
				"line %d is no echo of a sequence", line.Line)
		}
		if err := w.Write([]EchoRow{row}); err != nil {
			return err
		}
	}
	return w.Close()
}
