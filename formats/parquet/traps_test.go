package parquet

import (
	"bufio"
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	arrowfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// The tests in this file document errors of the libraries, and that these do
// not affect us. A test that fails because a library was fixed can be removed,
// together with the work-around.

func written[T any](t testing.TB, rows []T, o ...pq.WriterOption) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := pq.Write(&buf, rows, o...); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// parquet-go 0.32 decodes LZ4_RAW pages that shrank to more than a third to
// garbage, without an error. This package inflates such pages itself, and never writes
// one; arrow-go reads them correctly.
func TestLZ4RawIsRead(t *testing.T) {
	type row struct {
		N int64 `parquet:"n"`
	}
	rows := make([]row, 1000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		rows[i].N = r.Int64()
	}
	data := written(t, rows, pq.Compression(&pq.Lz4Raw))
	got, err := pq.Read[row](bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if got[0] == rows[0] && got[999] == rows[999] {
		t.Error("parquet-go reads LZ4_RAW now")
	}
	table := arrowTable(t, data)
	defer table.Release()
	if v := table.Column(0).Data().Chunk(0).(*array.Int64).Value(999); v != rows[999].N {
		t.Errorf("arrow-go reads %d, not %d", v, rows[999].N)
	}
	if back := read[row](t, data, 0, int64(len(rows))); !slices.Equal(back, rows) {
		t.Errorf("this package reads %d, not %d", back[999].N, rows[999].N)
	}
}

// parquet-go's zstd does not entropy-code literals, and log probabilities in
// BYTE_STREAM_SPLIT become larger. Our codec does.
func TestZstdCodesLiterals(t *testing.T) {
	type row struct {
		P []float32 `parquet:"p,list" parquet-element:",split"`
	}
	var rows []row
	for group := range randomtest.Trajectories(1, randomtest.Options{Groups: 4}) {
		for _, t := range group {
			for _, m := range t.Messages {
				rows = append(rows, row{m.Logprobs})
			}
		}
	}
	size := func(c compress.Codec) int { return len(written(t, rows, pq.Compression(c))) }
	theirs, ours := size(&pq.Zstd), size(zstdCodec{})
	if float64(ours) > 0.9*float64(theirs) {
		t.Errorf("ours has %d bytes, parquet-go's %d: its own codec would do now", ours, theirs)
	}
	back, err := pq.Read[row](bytes.NewReader(written(t, rows, pq.Compression(zstdCodec{}))), int64(ours))
	if err != nil {
		t.Fatal(err)
	}
	same(t, rows, back)
}

// parquet-go's ReadPageIndex slices one buffer in the order in which it expects
// the indexes, and panics on a file with any other order. Our files have that
// order (TestLightChunksLieAtTheTail), and our reader accepts any.
func TestPageIndexesInAnotherOrder(t *testing.T) {
	groups := varied(5)
	data := fileOf(t, groups)
	f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "x")
	if err != nil {
		t.Fatal(err)
	}
	meta := wholeFooter(t, f)
	columns := meta.RowGroups[0].Columns
	first := columns[0]
	columns[0].ColumnIndexOffset, columns[0].ColumnIndexLength = columns[2].ColumnIndexOffset, columns[2].ColumnIndexLength
	columns[2].ColumnIndexOffset, columns[2].ColumnIndexLength = first.ColumnIndexOffset, first.ColumnIndexLength
	var out bytes.Buffer
	re := &fileWriter{out: bufio.NewWriter(&out), meta: *meta, deferred: make([]bool, len(columns))}
	if err := re.write(data); err != nil { // the new footer is after the old one
		t.Fatal(err)
	}
	if err := re.writeFooter(); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("parquet-go no longer panics")
			}
		}()
		_, _ = pq.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	}()
	same(t, flat(groups), read[formats.Trajectory](t, out.Bytes(), 0, 20))
}

// SkipPageBounds alone keeps whole texts in page headers and footers of
// parquet-go's files. Ours have none (TestHeavyLeavesHaveNoStatistics…).
func TestSkipPageBoundsLeavesBounds(t *testing.T) {
	type row struct {
		Text string `parquet:"text"`
	}
	rows := []row{{strings.Repeat("whole message ", 50)}}
	has := func(o ...pq.WriterOption) bool {
		return bytes.Count(written(t, rows, append(o, pq.Compression(&pq.Uncompressed))...), []byte(rows[0].Text)) > 1
	}
	if !has(pq.SkipPageBounds("text")) {
		t.Error("SkipPageBounds is enough now")
	}
	if has(pq.SkipPageBounds("text"), pq.SkipPageStatistics("text")) {
		t.Error("both options are not enough")
	}
}

// MergeRowGroups of a nested schema with annotations returns a row group that
// WriteRowGroup refuses. We do not use it: files are joined by chunks.
func TestMergeRowGroupsLosesTheSchema(t *testing.T) {
	groups := varied(3)
	data := fileOf(t, groups)
	f, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := pq.MergeRowGroups(append(f.RowGroups(), f.RowGroups()...))
	if err != nil {
		return
	}
	w := pq.NewGenericWriter[formats.Trajectory](&bytes.Buffer{})
	if _, err := w.WriteRowGroup(merged); err == nil {
		t.Error("WriteRowGroup takes merged row groups now")
	} else {
		t.Log(err)
	}
}

// parquet-go writes nulls of an optional field that is not a pointer as zero
// values when the first nulls are followed by as many values and then only by
// nulls, here null, value, null. So write_values.go converts rows to columns.
func TestNullsStayNull(t *testing.T) {
	type row struct {
		S string `parquet:"s,optional"`
	}
	type back struct {
		S *string `parquet:"s,optional"`
	}
	rows := []row{{}, {"value"}, {}, {}}
	nulls := func(data []byte) (n int) {
		for _, r := range read[back](t, data, 0, 4) {
			if r.S == nil {
				n++
			}
		}
		return n
	}
	if n := nulls(written(t, rows)); n == 3 {
		t.Error("parquet-go writes these nulls now")
	}
	if n := nulls(fileOf(t, [][]row{rows})); n != 3 {
		t.Errorf("%d nulls of 3", n)
	}
}

// parquet-go's GenericWriter clears the paths of its columns when it is reset,
// and the next file's chunks have none. We never reset one.
func TestResetWriterForgetsPaths(t *testing.T) {
	type row struct {
		N int64 `parquet:"n"`
	}
	var buf bytes.Buffer
	w := pq.NewGenericWriter[row](&buf)
	for range 2 {
		buf.Reset()
		w.Reset(&buf)
		if _, err := w.Write([]row{{1}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	meta, _, err := readFooter(bytes.NewReader(buf.Bytes()), int64(buf.Len()), "x")
	if err != nil {
		t.Fatal(err)
	}
	if meta.RowGroups[0].Columns[0].MetaData.PathInSchema[0] == "n" {
		t.Error("a reset writer keeps its paths now")
	}
}

func arrowReader(t testing.TB, data []byte, batch int64) *pqarrow.FileReader {
	t.Helper()
	r, err := arrowfile.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	fr, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{BatchSize: batch}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	return fr
}

// arrow-go's SeekToRow fails in the middle of a page of a repeated column after
// rows were read. We look up rows with our own reader, which can begin at any
// row (TestRowsComeBack).
func TestArrowSeekToRowInNestedColumns(t *testing.T) {
	rows := flat(varied(64))
	rr, err := arrowReader(t, written(t, rows), 16).GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rr.Release()
	for _, row := range []int64{1, 37, 200} {
		if err := rr.SeekToRow(row); err != nil {
			t.Log("arrow-go:", err)
			return
		}
		rec, err := rr.Read()
		if err != nil {
			t.Log("arrow-go:", err)
			return
		}
		if cmp.Diff(jsonOf(t, rows[row]), arrowRow(t, rec, 0)) != "" {
			return
		}
	}
	t.Error("arrow-go seeks in nested columns now")
}

// In arrow-go, nil columns mean none in RowGroup(i).ReadTable and all in
// GetRecordReader. Callers must name the columns.
func TestArrowNilColumns(t *testing.T) {
	fr := arrowReader(t, fileOf(t, varied(2)), 16)
	table, err := fr.RowGroup(0).ReadTable(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	if table.NumCols() != 0 {
		t.Errorf("ReadTable(nil) reads %d columns now", table.NumCols())
	}
	rr, err := fr.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rr.Release()
	if rr.Schema().NumFields() == 0 {
		t.Error("GetRecordReader(nil) reads no columns now")
	}
}

// DuckDB does not read BYTE_STREAM_SPLIT of integers, so no integer column has
// it.
func TestNoSplitIntegers(t *testing.T) {
	_, _, f := epoch(t)
	for _, c := range wholeFooter(t, f).RowGroups[0].Columns {
		for _, e := range c.MetaData.Encoding {
			if e == format.ByteStreamSplit && c.MetaData.Type != format.Float && c.MetaData.Type != format.Double {
				t.Errorf("%v", c.MetaData.PathInSchema)
			}
		}
	}
}

// zstdCodec is codec for parquet-go.
type zstdCodec struct{ page.Codec }

func (zstdCodec) String() string                            { return "ZSTD" }
func (zstdCodec) CompressionCodec() format.CompressionCodec { return format.Zstd }
