package parquet_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/arrow/arrowtest"
	"github.com/rollmill/rollmill/formats/parquet"
)

// TestNumbersOfAnotherWidthAreRead, where each value fits; a type with another meaning is
// refused with the column, and so is a null where a list of numbers has no place for one.
func TestNumbersOfAnotherWidthAreRead(t *testing.T) {
	type row struct {
		Whole  int32     `parquet:"whole"`
		Double *float64  `parquet:"double,optional"`
		List   []float32 `parquet:"list,list"`
		None   []float32 `parquet:"none,list"`
	}
	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	whole, doubles := field("whole", arrow.PrimitiveTypes.Int64), field("list", arrow.ListOf(arrow.PrimitiveTypes.Float64))
	for name, c := range map[string]struct {
		fields []arrow.Field
		rows   string
		want   row
		says   string
	}{
		"other widths": {[]arrow.Field{whole, field("double", arrow.PrimitiveTypes.Float32), doubles, field("none", arrow.Null)},
			`[{"whole": 7, "double": 0.5, "list": [1.5, -2]}]`, row{Whole: 7, Double: new(0.5), List: []float32{1.5, -2}}, ""},
		"whole numbers": {[]arrow.Field{whole, field("double", arrow.PrimitiveTypes.Int32), field("list", arrow.ListOf(arrow.PrimitiveTypes.Int64))},
			`[{"whole": 7, "double": 2, "list": [3]}]`, row{Whole: 7, Double: new(2.0), List: []float32{3}}, ""},
		"decimals": {[]arrow.Field{whole, field("double", &arrow.Decimal128Type{Precision: 9, Scale: 2})}, `[{"whole": 7}]`, row{},
			"column double is "},
		"a null in a list":       {[]arrow.Field{whole, doubles}, `[{"whole": 7, "list": [1, null]}]`, row{}, "column list: a list has an element that is null"},
		"a float for an integer": {[]arrow.Field{field("whole", arrow.PrimitiveTypes.Float64)}, `[{"whole": 7}]`, row{}, "column whole is DOUBLE, not INT32"},
	} {
		data, err := arrowtest.File(c.fields, c.rows)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), "f.parquet")
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]row, 1)
		r, err := parquet.NewReader[row](f, 0, 1)
		if err == nil {
			_, err = r.Read(rows)
		}
		if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) || c.says == "" && err != nil {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if d := cmp.Diff(c.want, rows[0]); c.says == "" && d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
