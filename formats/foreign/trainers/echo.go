package trainers

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/parquet/reader"
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
	Sequence     int32           `parquet:"sequence,optional" json:"sequence"` // its number in the trajectory, from 0
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
	w := parquet.NewWriter[EchoRow](out)
	for line, err := range from.Read("") {
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

// Echo is an open file of EchoRow. It keeps where each trajectory's rows are, and the rows
// that were read last: they are mostly asked for in the file's order.
type Echo struct {
	rows  *parquet.File
	at    map[string][]int64 // rows of a trajectory
	first int64              // of kept
	kept  []EchoRow
}

const block = 64 // rows that are read together

// OpenEcho reads the ids of a file of EchoRow.
func OpenEcho(src io.ReaderAt, size int64, name string) (*Echo, error) {
	rows, err := parquet.Open(src, size, name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(rows.Names(), "trajectory_id") {
		return nil, fault.Invalid(name, "write a row for each row of the sequences, with its trajectory_id and sequence", nil,
			"it has no column trajectory_id")
	}
	type id struct {
		TrajectoryID string `parquet:"trajectory_id"`
	}
	f := &Echo{rows: rows, at: map[string][]int64{}}
	ids, err := read[id](rows, 0, rows.Rows())
	for n, row := range ids {
		f.at[row.TrajectoryID] = append(f.at[row.TrajectoryID], int64(n))
	}
	return f, err
}

func (f *Echo) Rows() int64 { return f.rows.Rows() }

// Columns returns the columns that have a value in any row.
func (f *Echo) Columns() (map[string]bool, error) {
	has := map[string]bool{}
	for n := int64(0); n < f.Rows(); n += block {
		if err := f.keep(n); err != nil {
			return nil, err
		}
		for _, r := range f.kept {
			for column, is := range map[string]bool{"old_logprobs": len(r.Old) > 0, "new_logprobs": len(r.New) > 0, "ref_logprobs": len(r.Reference) > 0,
				"entropies": len(r.Entropy) > 0, "clip_share": r.Clipped != nil, "loss": r.Loss != nil} {
				has[column] = has[column] || is
			}
		}
	}
	return has, nil
}

// Of returns the rows of a trajectory.
func (f *Echo) Of(id string) (out []EchoRow, err error) {
	for _, n := range f.at[id] {
		if n < f.first || n >= f.first+int64(len(f.kept)) {
			if err := f.keep(n - n%block); err != nil {
				return nil, err
			}
		}
		out = append(out, f.kept[n-f.first])
	}
	return out, nil
}

// keep reads the block that begins with a row.
func (f *Echo) keep(first int64) (err error) {
	f.first = first
	f.kept, err = read[EchoRow](f.rows, first, min(block, f.rows.Rows()-first))
	return err
}

// read reads rows of a file, which must have them all.
func read[T any](f *parquet.File, first, n int64) ([]T, error) {
	r, err := parquet.NewReader[T](f, first, n)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rows, err := reader.ReadAll(r.Read, n)
	if got := int64(len(rows)); err == nil && got < n {
		err = fmt.Errorf("%s: row %d: %w", f.Name(), first+got, io.ErrUnexpectedEOF)
	}
	return rows, err
}
