package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/arrow/arrowtest"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
	"github.com/rollmill/rollmill/storage/fault"
)

// rowsOf reads a file in memory.
func rowsOf(t *testing.T, file []byte) ([]string, error) {
	t.Helper()
	var out []string
	for row, err := range reader.JSON("x.parquet", bytes.NewReader(file), int64(len(file)), nil, nil) {
		if err != nil {
			return out, err
		}
		out = append(out, string(row))
	}
	return out, nil
}

// write makes a Parquet file of a table built by fill.
func write(t testing.TB, codec compress.Compression, schema *arrow.Schema, fill func(*array.RecordBuilder)) []byte {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	fill(b)
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(parquet.WithCompression(codec)),
		pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(b.NewRecordBatch()), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestEveryTypeBecomesJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	stamp, err := arrow.TimestampFromTime(at, arrow.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	fields := []arrow.Field{
		{Name: "text", Type: arrow.BinaryTypes.String}, {Name: "bytes", Type: arrow.BinaryTypes.Binary},
		{Name: "f32", Type: arrow.PrimitiveTypes.Float32}, {Name: "f64", Type: arrow.PrimitiveTypes.Float64},
		{Name: "int", Type: arrow.PrimitiveTypes.Int64}, {Name: "bool", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "money", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32},
		{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		{Name: "local", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
		{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)},
		{Name: "struct", Type: arrow.StructOf(arrow.Field{Name: "a<b", Type: arrow.BinaryTypes.String},
			arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true})},
		{Name: "map", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32)},
		{Name: "null", Type: arrow.BinaryTypes.String, Nullable: true},
	}
	file := write(t, compress.Codecs.Zstd, arrow.NewSchema(fields, nil), func(b *array.RecordBuilder) {
		b.Field(0).(*array.StringBuilder).Append("a \"b\" <c> é\n")
		b.Field(1).(*array.BinaryBuilder).Append([]byte{0xff, 0xfe})
		b.Field(2).(*array.Float32Builder).Append(0.1)
		b.Field(3).(*array.Float64Builder).Append(math.NaN())
		b.Field(4).(*array.Int64Builder).Append(math.MaxInt64)
		b.Field(5).(*array.BooleanBuilder).Append(true)
		b.Field(6).(*array.Decimal128Builder).Append(decimal128.FromI64(-1250))
		b.Field(7).(*array.Date32Builder).Append(arrow.Date32FromTime(at))
		b.Field(8).(*array.TimestampBuilder).Append(stamp)
		b.Field(9).(*array.TimestampBuilder).Append(stamp)
		list := b.Field(10).(*array.ListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{1, 2}, nil)
		s := b.Field(11).(*array.StructBuilder)
		s.Append(true)
		s.FieldBuilder(0).(*array.StringBuilder).Append("x")
		s.FieldBuilder(1).AppendNull()
		m := b.Field(12).(*array.MapBuilder)
		m.Append(true)
		m.KeyBuilder().(*array.StringBuilder).Append("k")
		m.ItemBuilder().(*array.Int32Builder).Append(7)
		b.Field(13).AppendNull()
	})
	rows, err := rowsOf(t, file)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := `{"text":"a \"b\" <c> é\n","bytes":"//4=","f32":0.1,"f64":NaN,"int":9223372036854775807,"bool":true,"money":-12.50,` +
		`"day":"2026-01-02","at":"2026-01-02T03:04:05.6Z","local":"2026-01-02T03:04:05.6","list":[1,2],` +
		`"struct":{"a<b":"x","n":null},"map":{"k":7},"null":null}`
	if rows[0] != want {
		t.Errorf("got\n%s\nwant\n%s", rows[0], want)
	}
}

// parquet-go decodes such pages to garbage: see TestLZ4RawIsRead.
func TestLZ4RawPagesThatCompressWell(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "q", Type: arrow.BinaryTypes.String}}, nil)
	text := strings.Repeat("the same words again ", 200)
	file := write(t, compress.Codecs.Lz4Raw, schema, func(b *array.RecordBuilder) {
		for range 1000 {
			b.Field(0).(*array.StringBuilder).Append(text)
		}
	})
	rows, err := rowsOf(t, file)
	if err != nil || len(rows) != 1000 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, r := range rows {
		if r != `{"q":"`+text+`"}` {
			t.Fatalf("row %d is %.60q", i, r)
		}
	}
}

func wellFormed(t testing.TB) []byte {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "q", Type: arrow.BinaryTypes.String},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)})},
	}, nil)
	return write(t, compress.Codecs.Zstd, schema, func(b *array.RecordBuilder) {
		for i := range 600 {
			b.Field(0).(*array.StringBuilder).Append(strings.Repeat("word ", i%7))
			b.Field(1).(*array.StructBuilder).Append(true)
			l := b.Field(1).(*array.StructBuilder).FieldBuilder(0).(*array.ListBuilder)
			l.Append(true)
			l.ValueBuilder().(*array.Int32Builder).Append(int32(i))
		}
	})
}

func TestDamagedFilesAreNamedErrors(t *testing.T) {
	good := wellFormed(t)
	damaged := map[string][]byte{
		"empty": {}, "four bytes": []byte("PAR1"), "text": []byte("id,question\n1,2\n"),
		"cut in half": good[:len(good)/2], "no footer": good[:len(good)-8], "only a footer": good[len(good)/2:],
	}
	for name, file := range damaged {
		_, err := rowsOf(t, file)
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), `"x.parquet"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whichever byte is wrong, reading gives rows or an error and does not panic.
func TestAnyWrongByteEndsInRowsOrAnError(t *testing.T) {
	good := wellFormed(t)
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 0x55
		if _, err := rowsOf(t, bad); err != nil && !errors.Is(err, fault.ErrInvalid) {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte("PAR1"))
	f.Add(nested(3))
	f.Add(wellFormed(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		for object, err := range reader.JSON("x.parquet", bytes.NewReader(file), int64(len(file)), nil, nil) {
			if err != nil {
				if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), `"x.parquet"`) {
					t.Fatalf("an error without kind or place: %v", err)
				}
				return
			}
			if !json.Valid(object) {
				t.Fatalf("%q is not JSON", object)
			}
		}
	})
}

type failing struct{ io.ReaderAt }

var errDisk = errors.New("the disk is gone")

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

func TestReadErrorsStayRecognisable(t *testing.T) {
	for _, err := range reader.JSON("x.parquet", failing{}, 1000, nil, nil) {
		if !errors.Is(err, errDisk) || errors.Is(err, fault.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
}

// Files by pyarrow and DuckDB are read as the .jsonl next to each says
// (testdata/examples/make.py).
func TestForeignFiles(t *testing.T) {
	for _, name := range []string{"pyarrow", "duckdb"} {
		base := "../../testdata/examples/foreign-" + name
		file, err := os.ReadFile(base + ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(base + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := rowsOf(t, file)
		if got := strings.Join(rows, "\n") + "\n"; err != nil || got != string(want) {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

// twin maps a file that arrow-go misreads to one with the same rows: arrow-go
// does not read decimals in DELTA_BYTE_ARRAY, and reads lists of lists in their
// older form as lists of structs.
var twin = strings.NewReplacer("-delta", "-v1", "-old", "")

// asBytes returns a row in which a column of text is base64, as bytes are.
func asBytes(t *testing.T, row, column string) string {
	t.Helper()
	o := jsontext.ParseObject([]byte(row))
	if !o.Has(column) {
		return row
	}
	text := base64.StdEncoding.EncodeToString([]byte(jsontext.Unquote(o.Get(column))))
	return string(o.With(column, jsontext.AppendString(nil, text)).Bytes())
}

// arrow-go reads the same rows from other tools' files.
func TestArrowReadsTheSameJSON(t *testing.T) {
	files, err := filepath.Glob("../../testdata/examples/foreign-*.parquet")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			judged, err := os.ReadFile(twin.Replace(name))
			if err != nil {
				t.Fatal(err)
			}
			want, err := arrowtest.Rows(judged)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := rowsOf(t, file)
			if err != nil || len(rows) != len(want) {
				t.Fatalf("%d rows of %d: %v", len(rows), len(want), err)
			}
			for i, row := range rows {
				if strings.Contains(name, "duckdb") { // arrow-go reads a column of JSON as bytes
					row = asBytes(t, row, "j")
				}
				if row != string(want[i]) {
					t.Fatalf("row %d is\n%s\narrow-go reads\n%s", i, row, want[i])
				}
			}
		})
	}
}

// A column that its writer held as an Arrow dictionary is read as its values.
func TestStoredDictionariesAreReadAsTheirValues(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "d",
		Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for range 10 {
		if err := b.Field(0).(*array.BinaryDictionaryBuilder).AppendString("word"); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := rowsOf(t, out.Bytes())
	if err != nil || len(rows) != 10 || rows[9] != `{"d":"word"}` {
		t.Errorf("%q, %v", rows, err)
	}
}

// Unsupported types are refused with the names of column and type.
func TestUnsupportedTypesAreNamed(t *testing.T) {
	type row struct {
		Deep struct {
			At int64 `parquet:"at"`
		} `parquet:"deep"`
		ID   int64    `parquet:"id"`
		Took [12]byte `parquet:"took"`
	}
	var buf bytes.Buffer
	if err := pq.Write(&buf, []row{{ID: 7, Took: [12]byte{1, 0, 0, 0, 2, 1, 0, 0, 0xbc, 0x0b}}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*format.SchemaElement)
		want   string
	}{
		{func(e *format.SchemaElement) {
			e.LogicalType.Value, e.ConvertedType = nil, thrift.New(deprecated.Interval)
		}, `column "deep.at" has the type INTERVAL of INT64`},
		{func(e *format.SchemaElement) { e.LogicalType.Value = new(format.VariantType) },
			`column "deep.at" has the type VARIANT of INT64`},
		{func(e *format.SchemaElement) { e.LogicalType.Value = new(format.DateType) },
			`column "deep.at" has the type DATE of INT64`},
		{func(e *format.SchemaElement) { e.LogicalType.Value = &format.DecimalType{Precision: 100} },
			`column "deep.at" has the type DECIMAL(100,0) of INT64`},
	} {
		file := withSchema(t, buf.Bytes(), func(schema []format.SchemaElement) { c.change(&schema[2]) })
		if _, err := rowsOf(t, file); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		var unread []jsontext.Lost
		for row, err := range reader.JSON("x.parquet", bytes.NewReader(file), int64(len(file)), nil, &unread) {
			if err != nil || string(row) != `{"id":7,"took":"AQAAAAIBAAC8CwAA"}` || len(unread) != 1 || unread[0].Path != "deep" ||
				!strings.Contains(unread[0].Why, c.want) {
				t.Errorf("%s, %v, %v", row, unread, err)
			}
		}
	}
	took := withSchema(t, buf.Bytes(), func(schema []format.SchemaElement) { schema[4].ConvertedType = thrift.New(deprecated.Interval) })
	if rows, err := rowsOf(t, took); err != nil || rows[0] != `{"deep":{"at":0},"id":7,"took":"P1M258DT3.004S"}` {
		t.Error(rows, err)
	}
	file := withSchema(t, buf.Bytes(), func(schema []format.SchemaElement) {
		schema[1].ConvertedType = thrift.New(deprecated.List)
	})
	if _, err := rowsOf(t, file); err == nil || !strings.Contains(err.Error(), `column "deep" is a list of a form`) {
		t.Error(err)
	}
}

// withSchema changes the schema of a file.
func withSchema(t *testing.T, file []byte, change func([]format.SchemaElement)) []byte {
	t.Helper()
	meta, _, err := readFooter(bytes.NewReader(file), int64(len(file)), "a")
	if err != nil {
		t.Fatal(err)
	}
	change(meta.Schema)
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		t.Fatal(err)
	}
	n := len(file) - 8 - int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	return append(binary.LittleEndian.AppendUint32(append(bytes.Clone(file[:n]), footer...), uint32(len(footer))), layout.Magic...)
}

// Whichever byte of a foreign file is wrong, reading gives rows or an error and
// does not panic.
func TestAnyWrongByteOfAForeignFile(t *testing.T) {
	for _, name := range []string{"delta", "spark-old", "v1"} {
		good, err := os.ReadFile("../../testdata/examples/foreign-" + name + ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		step := 31
		if testing.Short() {
			step = 97
		}
		for at := 0; at < len(good); at += step {
			bad := bytes.Clone(good)
			bad[at] ^= 0x55
			rows, err := rowsOf(t, bad)
			if err != nil && !errors.Is(err, fault.ErrInvalid) {
				t.Fatalf("%s, byte %d: %v", name, at, err)
			}
			for _, row := range rows {
				if !json.Valid([]byte(row)) {
					t.Fatalf("%s, byte %d: %s", name, at, row)
				}
			}
		}
	}
}
