package arrow

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
	"unsafe" // appends fields of rows of any type to columns, by their offsets

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rollmill/rollmill/formats/schema"
)

// RowWriter writes rows of a row type of package formats, with every column, as
// Arrow IPC. Text is utf8, a list is a list, and times are timestamps in
// microseconds, UTC. Close it. It is for one goroutine.
type RowWriter[T any] struct {
	w       batchWriter
	b       *array.RecordBuilder
	appends []appender
	rows    int64
	waiting int64 // rows in the builder
	held    int64 // bytes in it
}

type batchWriter interface {
	Write(arrow.RecordBatch) error
	Close() error
}

// appender appends the value at an address to a builder and returns its bytes.
type appender func(b array.Builder, at unsafe.Pointer) int64

// A batch ends with the first of these.
const (
	rowsOfBatch  = 4096
	bytesOfBatch = 8 << 20
)

// NewRowWriter returns a writer of the file format, or of the streaming format.
func NewRowWriter[T any](out io.Writer, stream bool) (*RowWriter[T], error) {
	var fields []arrow.Field
	w := &RowWriter[T]{}
	for _, f := range schema.FieldsOf(reflect.TypeFor[T]()) {
		t, add := typeOf(f.Type, f.Instant)
		fields = append(fields, arrow.Field{Name: f.Name, Type: t, Nullable: f.Optional})
		w.appends = append(w.appends, fieldAppender(f, add))
	}
	schema := arrow.NewSchema(fields, nil)
	w.b = array.NewRecordBuilder(memory.DefaultAllocator, schema)
	if stream {
		w.w = ipc.NewWriter(out, ipc.WithSchema(schema))
		return w, nil
	}
	file, err := ipc.NewFileWriter(out, ipc.WithSchema(schema))
	w.w = file
	return w, err
}

// Write appends rows.
func (w *RowWriter[T]) Write(rows []T) error {
	for i := range rows {
		at := unsafe.Pointer(&rows[i])
		for c, add := range w.appends {
			w.held += add(w.b.Field(c), at)
		}
		w.rows++
		w.waiting++
		if w.waiting == rowsOfBatch || w.held >= bytesOfBatch {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *RowWriter[T]) flush() error {
	if w.waiting == 0 {
		return nil
	}
	batch := w.b.NewRecordBatch()
	defer batch.Release()
	w.waiting, w.held = 0, 0
	if err := w.w.Write(batch); err != nil {
		return fmt.Errorf("writing a record batch: %w", err)
	}
	return nil
}

// Rows returns the rows so far.
func (w *RowWriter[T]) Rows() int64 { return w.rows }

// Close writes the last batch and the end.
func (w *RowWriter[T]) Close() error {
	defer w.b.Release()
	if err := w.flush(); err != nil {
		return err
	}
	return w.w.Close()
}

// typeOf returns the Arrow type of a Go type, and how its values are appended.
func typeOf(t reflect.Type, isTime bool) (arrow.DataType, appender) {
	switch t.Kind() {
	case reflect.Struct:
		return structOf(t)
	case reflect.Slice:
		return listOf(t)
	case reflect.Pointer:
		inner, add := typeOf(t.Elem(), false)
		return inner, func(b array.Builder, at unsafe.Pointer) int64 { return add(b, *(*unsafe.Pointer)(at)) }
	case reflect.String:
		return arrow.BinaryTypes.String, func(b array.Builder, at unsafe.Pointer) int64 {
			s := *(*string)(at)
			if !utf8.ValidString(s) {
				s = strings.ToValidUTF8(s, "\uFFFD")
			}
			b.(*array.StringBuilder).Append(s)
			return int64(len(s)) + 4
		}
	case reflect.Bool:
		return arrow.FixedWidthTypes.Boolean, func(b array.Builder, at unsafe.Pointer) int64 {
			b.(*array.BooleanBuilder).Append(*(*bool)(at))
			return 1
		}
	case reflect.Int32:
		return arrow.PrimitiveTypes.Int32, func(b array.Builder, at unsafe.Pointer) int64 {
			b.(*array.Int32Builder).Append(*(*int32)(at))
			return 4
		}
	case reflect.Int64:
		if isTime {
			return arrow.FixedWidthTypes.Timestamp_us, func(b array.Builder, at unsafe.Pointer) int64 {
				b.(*array.TimestampBuilder).Append(arrow.Timestamp(*(*int64)(at)))
				return 8
			}
		}
		return arrow.PrimitiveTypes.Int64, func(b array.Builder, at unsafe.Pointer) int64 {
			b.(*array.Int64Builder).Append(*(*int64)(at))
			return 8
		}
	case reflect.Float32:
		return arrow.PrimitiveTypes.Float32, func(b array.Builder, at unsafe.Pointer) int64 {
			b.(*array.Float32Builder).Append(*(*float32)(at))
			return 4
		}
	case reflect.Float64:
		return arrow.PrimitiveTypes.Float64, func(b array.Builder, at unsafe.Pointer) int64 {
			b.(*array.Float64Builder).Append(*(*float64)(at))
			return 8
		}
	}
	panic("arrow: a column of type " + t.String())
}

func structOf(t reflect.Type) (arrow.DataType, appender) {
	var fields []arrow.Field
	var adds []appender
	for _, f := range schema.FieldsOf(t) {
		of, add := typeOf(f.Type, f.Instant)
		fields = append(fields, arrow.Field{Name: f.Name, Type: of, Nullable: f.Optional})
		adds = append(adds, fieldAppender(f, add))
	}
	return arrow.StructOf(fields...), func(b array.Builder, at unsafe.Pointer) (n int64) {
		s := b.(*array.StructBuilder)
		s.Append(true)
		for i, add := range adds {
			n += add(s.FieldBuilder(i), at)
		}
		return n
	}
}

func listOf(t reflect.Type) (arrow.DataType, appender) {
	inner, add := typeOf(t.Elem(), false)
	size := t.Elem().Size()
	return arrow.ListOfField(arrow.Field{Name: "element", Type: inner}), func(b array.Builder, at unsafe.Pointer) int64 {
		l, v := b.(*array.ListBuilder), (*sliceHeader)(at)
		l.Append(true)
		n := int64(4)
		for i := range v.n {
			n += add(l.ValueBuilder(), unsafe.Add(v.first, uintptr(i)*size))
		}
		return n
	}
}

// sliceHeader is the memory of a slice.
type sliceHeader struct {
	first unsafe.Pointer
	n, c  int
}

// fieldAppender appends a field of the struct at an address; the zero value of
// one that may be null is null, as in our Parquet files.
func fieldAppender(f schema.Field, add appender) appender {
	offset := f.Offset
	if !f.Optional {
		return func(b array.Builder, at unsafe.Pointer) int64 { return add(b, unsafe.Add(at, offset)) }
	}
	t := f.Type
	return func(b array.Builder, at unsafe.Pointer) int64 {
		p := unsafe.Add(at, offset)
		if isNull(t, p) {
			b.AppendNull()
			return 8
		}
		return add(b, p)
	}
}

func isNull(t reflect.Type, at unsafe.Pointer) bool {
	switch t.Kind() {
	case reflect.String:
		return *(*string)(at) == ""
	case reflect.Slice:
		return (*sliceHeader)(at).first == nil
	case reflect.Pointer:
		return *(*unsafe.Pointer)(at) == nil
	case reflect.Bool:
		return !*(*bool)(at)
	}
	return *(*int64)(at) == 0
}
