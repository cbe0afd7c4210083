package parquet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
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
	"github.com/rollmill/rollmill/formats/random"
)

// The tests in this file pin what the libraries do wrong, and that it does not
// reach us. One that fails because a library was mended can go, and with it
// what we do about it.

func written[T any](t testing.TB, rows []T, o ...pq.WriterOption) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := pq.Write(&buf, rows, o...); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// parquet-go 0.32 leaves LZ4_RAW pages that shrank to more than a third as
// garbage, without an error. Such files are refused by the codec's name, and
// this package never writes one; arrow-go reads them rightly.
func TestLZ4RawIsRefused(t *testing.T) {
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
	_, err = Open(bytes.NewReader(data), int64(len(data)), "a.parquet")
	if err == nil || !errors.Is(err, formats.ErrInvalid) || !strings.Contains(err.Error(), "LZ4_RAW") {
		t.Errorf("Open: %v", err)
	}
}

// parquet-go's zstd leaves literals uncoded, and log probabilities in
// BYTE_STREAM_SPLIT grow by it. Our codec codes them.
func TestZstdCodesLiterals(t *testing.T) {
	type row struct {
		P []float32 `parquet:"p,list" parquet-element:",split"`
	}
	var rows []row
	for group := range random.Trajectories(1, random.Options{Groups: 4}) {
		for _, t := range group {
			for _, m := range t.Messages {
				rows = append(rows, row{m.Logprobs})
			}
		}
	}
	size := func(c compress.Codec) int { return len(written(t, rows, pq.Compression(c))) }
	theirs, ours := size(&pq.Zstd), size(codec{})
	if float64(ours) > 0.9*float64(theirs) {
		t.Errorf("ours has %d bytes, parquet-go's %d: its own codec would do now", ours, theirs)
	}
	back, err := pq.Read[row](bytes.NewReader(written(t, rows, pq.Compression(codec{}))), int64(ours))
	if err != nil {
		t.Fatal(err)
	}
	same(t, rows, back)
}

// parquet-go's ReadPageIndex slices one buffer by the order in which it
// expects the indexes, and panics over a file with any other order. Ours are
// in that order (TestLightChunksLieAtTheTail), and our reader does not care.
func TestPageIndexesInAnotherOrder(t *testing.T) {
	groups := varied(5)
	data := fileOf(t, groups)
	f, err := Open(bytes.NewReader(data), int64(len(data)), "x")
	if err != nil {
		t.Fatal(err)
	}
	columns := f.meta.RowGroups[0].Columns
	first := columns[0]
	columns[0].ColumnIndexOffset, columns[0].ColumnIndexLength = columns[2].ColumnIndexOffset, columns[2].ColumnIndexLength
	columns[2].ColumnIndexOffset, columns[2].ColumnIndexLength = first.ColumnIndexOffset, first.ColumnIndexLength
	var out bytes.Buffer
	re := &tail{out: bufio.NewWriter(&out), meta: *f.meta, waits: make([]bool, len(columns))}
	if err := re.write(data); err != nil { // the new footer stands behind the old one
		t.Fatal(err)
	}
	if err := re.footer(); err != nil {
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

// SkipPageBounds alone keeps whole texts in page headers and footers, in
// files of parquet-go. Ours have none (TestHeavyLeavesHaveNoStatistics…).
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

// MergeRowGroups of a nested schema with annotations gives a row group that
// WriteRowGroup refuses. Nothing here uses it: files are joined by chunks.
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

// parquet-go writes nulls of an optional field that is no pointer as zero
// values, when as many values follow the first nulls as there were, and only
// nulls after: here null, value, null. So rows become columns in gather.go.
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

// parquet-go's GenericWriter clears the paths of its columns when it is
// reset, and the next file's chunks have none. Nothing here resets one.
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

// arrow-go's SeekToRow, once rows were read, fails in the middle of a page of
// a repeated column. Rows are looked up with our reader, which begins at any
// (TestRowsComeBack).
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

// In arrow-go, nil columns are none to RowGroup(i).ReadTable and all to
// GetRecordReader. Whoever reads with it must say which it wants.
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

// DuckDB reads no BYTE_STREAM_SPLIT of integers: no integer column has it.
func TestNoSplitIntegers(t *testing.T) {
	_, _, f := epoch(t)
	for _, c := range f.meta.RowGroups[0].Columns {
		for _, e := range c.MetaData.Encoding {
			if e == format.ByteStreamSplit && c.MetaData.Type != format.Float && c.MetaData.Type != format.Double {
				t.Errorf("%v", c.MetaData.PathInSchema)
			}
		}
	}
}
