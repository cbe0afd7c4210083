// Package arrowtest reads and writes Parquet files with arrow-go, for tests.
// It shares no code with formats/parquet, so a test can compare the two.
package arrowtest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Rows returns each row of a Parquet file as parquet.JSON does. The file is
// trusted: a damaged one may panic.
func Rows(data []byte) ([]json.RawMessage, error) {
	f, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil || f.NumRows() == 0 {
		return nil, err
	}
	in, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 256}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	records, err := in.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		return nil, err
	}
	defer records.Release()
	var out []json.RawMessage
	for records.Next() {
		rows, err := objects(records.RecordBatch())
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	if err := records.Err(); err != nil && err != io.EOF {
		return nil, err
	}
	return out, nil
}

func objects(batch arrow.RecordBatch) ([]json.RawMessage, error) {
	rows := array.RecordToStructArray(batch)
	defer rows.Release()
	out := make([]json.RawMessage, rows.Len())
	for i := range out {
		var err error
		if out[i], err = AppendValue(nil, rows, i); err != nil {
			return nil, err
		}
	}
	return out, nil
}
