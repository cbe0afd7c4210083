package arrow

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Objects yields the rows of a stream of record batches, as Hugging Face's datasets
// keeps them on a disk, each as a JSON object. Bytes that are not such a stream are an
// error, which ends the rows; the limits are those of an AnswerReader. A row is valid
// until the next.
func Objects(r io.Reader) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if err := eachObject(r, func(row json.RawMessage) bool { return yield(row, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func eachObject(in io.Reader, yield func(json.RawMessage) bool) error {
	r := &batches{src: bufio.NewReaderSize(in, 1<<20)}
	var text bytes.Buffer
	for {
		text.Reset()
		err := r.next(func(batch arrow.RecordBatch) error { return writeObjects(&text, batch) })
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for line := range bytes.Lines(text.Bytes()) {
			if !yield(bytes.TrimSuffix(line, []byte("\n"))) {
				return nil
			}
		}
	}
}

// writeObjects writes a line for each row, with the columns in their order.
func writeObjects(text *bytes.Buffer, batch arrow.RecordBatch) error {
	out := json.NewEncoder(text)
	out.SetEscapeHTML(false)
	value := func(v any) error {
		err := out.Encode(v)
		text.Truncate(max(0, text.Len()-1)) // the end of the line
		return err
	}
	for i := range int(batch.NumRows()) {
		text.WriteByte('{')
		for c, f := range batch.Schema().Fields() {
			if c > 0 {
				text.WriteByte(',')
			}
			if err := value(f.Name); err != nil {
				return err
			}
			text.WriteByte(':')
			if err := value(batch.Column(c).GetOneForMarshal(i)); err != nil {
				return fmt.Errorf("column %s, type %s: %w", f.Name, f.Type, err)
			}
		}
		text.WriteString("}\n")
	}
	return nil
}

// batches reads a stream of record batches that another program wrote.
type batches struct {
	src *bufio.Reader
	r   *ipc.Reader
}

// next calls use with the next batch, or returns io.EOF after the last.
func (b *batches) next(use func(arrow.RecordBatch) error) (err error) {
	defer func() {
		if p := recover(); p != nil { // of the allocator, or of arrow-go on damaged rows
			err = fmt.Errorf("not a stream of Arrow record batches: %v", p)
		}
	}()
	if b.r == nil {
		r, err := ipc.NewReader(&framed{src: b.src}, ipc.WithAllocator(&limited{Allocator: memory.NewGoAllocator()}))
		if err != nil {
			return fmt.Errorf("not a stream of Arrow record batches: %w", err)
		}
		b.r = r
	}
	if !b.r.Next() {
		if err := b.r.Err(); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("not a stream of Arrow record batches: %w", err)
		}
		return io.EOF
	}
	return use(b.r.RecordBatch())
}
