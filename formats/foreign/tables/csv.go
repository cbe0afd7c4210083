package tables

import (
	"bytes"
	"encoding/csv"
	"io"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
)

// CSV writes the columns of our rows that have one number or one text as CSV
// (RFC 4180, with a header line), under our names. An empty field is null. Times
// are ISO 8601, in UTC. The column rewards is a JSON object of the components'
// values; a component without a value is null.
var CSV = exporters.Format{
	Name: "csv", For: exporters.Tables, Help: "the columns with one number or text, for spreadsheets",
	Omits: "messages, calls, tools, candidates and the example",
	Of:    exporters.Rows, Exports: []exporters.Extension{exporters.CSV},
	Other: func(out io.Writer) exporters.Sink { return &csvSink{out: out} },
}

// fields are the columns, in our order. The example is an object, not a scalar.
var fields = slices.DeleteFunc(slices.Clone(formats.FieldsOf(reflect.TypeFor[formats.Trajectory]())),
	func(f formats.Field) bool {
		return f.Type.Kind() == reflect.Slice && f.Name != "rewards" || f.Name == "example"
	})

type csvSink struct {
	out        io.Writer
	buf        bytes.Buffer
	rows, size int64
	begun      bool
}

func (s *csvSink) Give(x *exporters.Item) error {
	s.begin()
	w := csv.NewWriter(&s.buf)
	record := make([]string, len(fields))
	for i := range x.Rows {
		v := reflect.ValueOf(&x.Rows[i]).Elem()
		for c, f := range fields {
			record[c] = text(f, v.FieldByIndex(index[f.Name]))
		}
		if err := w.Write(record); err != nil {
			return err
		}
		s.rows++
	}
	w.Flush()
	return s.flush()
}

// begin writes the header, which a file without rows has, too.
func (s *csvSink) begin() {
	if s.begun {
		return
	}
	s.begun = true
	w := csv.NewWriter(&s.buf)
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	_ = w.Write(names) // to memory
	w.Flush()
}

func (s *csvSink) flush() error {
	n, err := s.out.Write(s.buf.Bytes())
	s.size += int64(n)
	s.buf.Reset()
	return err
}

func (s *csvSink) Rows() int64 { return s.rows }
func (s *csvSink) Size() int64 { return s.size }
func (s *csvSink) Close() error {
	s.begin()
	return s.flush()
}

// index maps a column to its field.
var index = func() map[string][]int {
	out := map[string][]int{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[formats.Trajectory]()) {
		for _, c := range fields {
			if c.Offset == f.Offset && !f.Anonymous && len(f.Index) == 1 {
				out[c.Name] = f.Index
			}
		}
	}
	return out
}()

func text(f formats.Field, v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch {
	case f.Optional && v.Kind() == reflect.Int64 && v.IsZero() && f.Instant:
		return ""
	case f.Instant:
		return time.UnixMicro(v.Int()).UTC().Format("2006-01-02T15:04:05.000000Z")
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case v.Kind() == reflect.Slice:
		return chat.Rewards(v.Interface().([]formats.NamedReward))
	}
	return v.String()
}
