package arrowtest

import (
	"bytes"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// File returns a Parquet file with rows of a schema, which arrow-go wrote. Rows
// are a JSON array of objects. Decimals of at most 18 digits are stored as
// integers, as DuckDB does.
func File(fields []arrow.Field, rows string) ([]byte, error) {
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(rows))
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(batch.Schema(), &out,
		parquet.NewWriterProperties(parquet.WithStoreDecimalAsInteger(true)), pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, err
	}
	if err := w.Write(batch); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
