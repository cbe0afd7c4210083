package tables

import (
	"encoding/csv"
	"io"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/schema"
)

// CSV writes the columns of our rows that have one number or one text as CSV
// (RFC 4180, with a header line), under our names. An empty field is null. Times
// are ISO 8601, in UTC. The column rewards is a JSON object of the components'
// values; a component without a value is null.
var CSV = exporters.Format{
	Name: "csv", For: exporters.Tables, Help: "the columns with one number or text, for spreadsheets",
	Omits: "messages, calls, tools, candidates and the example",
	Of:    exporters.Rows, Exports: []exporters.Extension{exporters.CSV}, Other: newCSV,
}

// fields are the columns, in our order. The example is an object, not a scalar.
var fields = slices.DeleteFunc(slices.Clone(schema.FieldsOf(reflect.TypeFor[formats.Trajectory]())),
	func(f schema.Field) bool {
		return f.Type.Kind() == reflect.Slice && f.Name != "rewards" || f.Name == "example"
	})

type csvSink struct {
	w    *csv.Writer
	rows int64
}

// newCSV writes the header, which a file without rows has, too.
func newCSV(out io.Writer) exporters.Sink {
	s := &csvSink{w: csv.NewWriter(out)}
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	_ = s.w.Write(names) // Flush reports an error
	return s
}

func (s *csvSink) Give(x *exporters.Item) error {
	record := make([]string, len(fields))
	for i := range x.Rows {
		row := reflect.ValueOf(&x.Rows[i]).Elem()
		for c, f := range fields {
			record[c] = text(f, f.In(row))
		}
		if err := s.w.Write(record); err != nil {
			return err
		}
		s.rows++
	}
	return s.Close()
}

func (s *csvSink) Rows() int64 { return s.rows }

func (s *csvSink) Close() error {
	s.w.Flush()
	return s.w.Error()
}

func text(f schema.Field, v reflect.Value) string {
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
