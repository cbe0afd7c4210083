package arrow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/arrow/arrowtest"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// Rows are the same in both formats as in our Parquet files, as another reader
// sees them: values, nulls, names and their order, but for the column that Parquet
// has first.
func TestRowsAreThoseOfParquet(t *testing.T) {
	zero := math.Copysign(0, -1)
	rows := slices.Concat(slices.Collect(randomtest.Trajectories(3,
		randomtest.Options{Groups: 40, Scored: true, Failures: 0.3, Unscored: 0.3, Branches: 0.3, SampledTokens: 60, PromptTokens: 40}))...)
	rows = append(rows, formats.Trajectory{}, formats.Trajectory{TrajectoryID: "\xff", Reward: &zero, StartedAt: 1, ShapedRewards: []float64{1},
		Messages:   []formats.Message{{}, {ToolCalls: []formats.ToolCall{{}}, Logprobs: []float32{-math.SmallestNonzeroFloat32}}},
		Candidates: []formats.Candidate{{}}})
	want := fromParquet(t, rows)
	for _, stream := range []bool{false, true} {
		var file bytes.Buffer
		w, err := NewRowWriter[formats.Trajectory](&file, stream)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(rows); i += 7 {
			err = errors.Join(err, w.Write(rows[i:min(i+7, len(rows))]))
		}
		if err = errors.Join(err, w.Close()); err != nil || w.Rows() != int64(len(rows)) {
			t.Fatalf("%d rows: %v", w.Rows(), err)
		}
		got := fromArrow(t, file.Bytes(), stream)
		if len(got) != len(want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("stream %v, row %d:\n%s\nwant\n%s", stream, i, got[i], want[i])
			}
		}
	}
}

func fromParquet(t *testing.T, rows []formats.Trajectory) (out []json.RawMessage) {
	t.Helper()
	rows = slices.Clone(rows)
	for i := range rows {
		if rows[i].TrajectoryID == "\xff" {
			rows[i].TrajectoryID = "\ufffd" // Arrow's text is UTF-8
		}
	}
	var file bytes.Buffer
	w := parquet.NewWriter[formats.Trajectory](&file)
	if err := errors.Join(w.Write(rows), w.Close()); err != nil {
		t.Fatal(err)
	}
	for row, err := range parquet.JSON("file", bytes.NewReader(file.Bytes()), int64(file.Len()), nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, bytes.Clone(row))
	}
	return out
}

func fromArrow(t *testing.T, file []byte, stream bool) (out []json.RawMessage) {
	t.Helper()
	each := func(batch arrow.RecordBatch) {
		for i := range int(batch.NumRows()) {
			b := []byte{'{'}
			add := func(c int) {
				if len(b) > 1 {
					b = append(b, ',')
				}
				b = append(append(append(b, '"'), batch.ColumnName(c)...), `":`...)
				var err error
				if b, err = arrowtest.AppendValue(b, batch.Column(c), i); err != nil {
					t.Fatal(err)
				}
			}
			first := batch.Schema().FieldIndices("example")[0]
			add(first)
			for c := range batch.Schema().Fields() {
				if c != first {
					add(c)
				}
			}
			out = append(out, append(b, '}'))
		}
	}
	if stream {
		r, err := ipc.NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
			each(r.RecordBatch())
		}
		if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return out
	}
	r, err := ipc.NewFileReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.NumRecords() {
		batch, err := r.RecordBatch(i)
		if err != nil {
			t.Fatal(err)
		}
		each(batch)
	}
	return out
}
