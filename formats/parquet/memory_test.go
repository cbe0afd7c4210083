package parquet

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
)

type numbers struct {
	A int64 `parquet:"a"`
	B int64 `parquet:"b"`
	C int64 `parquet:"c"`
	D int64 `parquet:"d"`
}

// claiming returns a file of a few hundred bytes whose columns each have a
// dictionary of one value, and one page that repeats it n times.
func claiming(t testing.TB, n int) []byte {
	t.Helper()
	header := func(h format.PageHeader, body []byte) []byte {
		out, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
		if err != nil {
			t.Fatal(err)
		}
		return append(out, body...)
	}
	one := make([]byte, 8)
	chunk := header(format.PageHeader{Type: format.DictionaryPage, CompressedPageSize: 8, UncompressedPageSize: 8,
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1})}, one)
	indexes := append(binary.AppendUvarint([]byte{1}, uint64(n)<<1), 0)
	page := v2(n, format.RLEDictionary, len(indexes), len(indexes))
	page.DataPageHeaderV2.V.IsCompressed = thrift.New(false)
	chunk = append(chunk, header(page, indexes)...)
	data := []byte(layout.Magic)
	meta := format.FileMetaData{Version: version, Schema: layout.Of[numbers]().Meta.Schema, NumRows: int64(n),
		RowGroups: []format.RowGroup{{NumRows: int64(n)}}}
	for i, name := range []string{"a", "b", "c", "d"} {
		meta.RowGroups[0].Columns = append(meta.RowGroups[0].Columns, format.ColumnChunk{MetaData: format.ColumnMetaData{
			Type: format.Int64, PathInSchema: []string{name}, NumValues: int64(n), TotalCompressedSize: int64(len(chunk)),
			DataPageOffset: int64(len(layout.Magic) + i*len(chunk)),
		}})
		data = append(data, chunk...)
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
	if err != nil {
		t.Fatal(err)
	}
	data = append(append(data, footer...), binary.LittleEndian.AppendUint32(nil, uint32(len(footer)))...)
	return append(data, layout.Magic...)
}

// A small file can claim many values, because run lengths and zstd can encode
// them. All columns of a reader share one budget.
func TestASmallFileCannotClaimMuchMemory(t *testing.T) {
	data := claiming(t, 1<<26)
	f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "broken.parquet")
	if err != nil {
		t.Fatal(err)
	}
	r, err := reader.NewReader[numbers](f, 0, f.Rows())
	if err != nil {
		t.Fatal(err)
	}
	before := allocated()
	_, err = r.Read(make([]numbers, 1))
	refused(t, "values without end", err)
	if !strings.Contains(err.Error(), "512 MiB and 64 times its size") {
		t.Errorf("the budget is not named: %v", err)
	}
	if got := allocated() - before; got > 576<<20 {
		t.Errorf("%d bytes of a file: %d bytes allocated", len(data), got)
	} else {
		t.Logf("%d bytes of a file: %d MiB allocated: %v", len(data), got>>20, err)
	}
}

func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

func TestABudgetIsKept(t *testing.T) {
	data := claiming(t, 1<<12)
	for _, c := range []struct {
		budget int64
		ok     bool
	}{{1 << 20, true}, {4 * 12 << 12, false}, {0, false}} {
		f := opened(t, data)
		f.Budget = c.budget
		r, err := reader.NewReader[numbers](f, 0, f.Rows())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = r.Read(make([]numbers, 1<<12)); (err == nil) != c.ok {
			t.Errorf("a budget of %d bytes: %v", c.budget, err)
		}
	}
}

// Returned rows belong to the caller: a file of any size can be read with the
// budget that its largest pages need.
func TestABudgetIsForWhatIsHeldAtOnce(t *testing.T) {
	data := fileOf(t, varied(40))
	f := opened(t, data)
	f.Budget = 2 << 20
	r, err := reader.NewReader[formats.Trajectory](f, 0, f.Rows())
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]formats.Trajectory, 1)
	for i := range f.Rows() {
		if _, err := r.Read(rows); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
	}
}

// The decoder recurses into unknown fields, and a stack overflow cannot be
// recovered.
func TestNestingIsBounded(t *testing.T) {
	lists := append([]byte{0x19}, bytes.Repeat([]byte{0x19}, 6<<20)...)
	structs := bytes.Repeat([]byte{0xfc}, 3<<20)
	for what, footer := range map[string][]byte{"lists": lists, "structures": structs} {
		file := append([]byte(layout.Magic), footer...)
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), layout.Magic...)
		_, err := readAll[numbers](file)
		refused(t, "a footer of nested "+what, err)

		_, err = readAll[struct {
			N int64 `parquet:"n"`
		}](forgeRaw(t, footer))
		refused(t, "a page header of nested "+what, err)
	}
}

// forgeRaw returns a file whose one chunk is these bytes.
func forgeRaw(t testing.TB, chunk []byte) []byte {
	t.Helper()
	return forge(format.PageHeader{}, nil, func(m *format.FileMetaData) {
		m.RowGroups[0].Columns[0].MetaData.TotalCompressedSize = int64(len(chunk))
	}, chunk...)
}

func TestLongPageHeadersAreRefused(t *testing.T) {
	long := []byte{0x18 | 0x80} // an unknown text
	long = append(binary.AppendUvarint(long, 2<<20), make([]byte, 2<<20)...)
	_, err := readAll[struct {
		N int64 `parquet:"n"`
	}](forgeRaw(t, append(long, 0)))
	refused(t, "a header of 2 MiB", err)
	if err == nil || !strings.Contains(err.Error(), "more than 1048576") {
		t.Error(err)
	}
}
