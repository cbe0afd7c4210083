package parquet

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
	"github.com/rollmill/rollmill/storage/fault"
)

// readAll reads everything, and returns the first error.
func readAll[T any](data []byte) (rows int, err error) {
	f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "broken.parquet")
	if err != nil {
		return 0, err
	}
	r, err := reader.NewReader[T](f, 0, f.Rows())
	if err != nil {
		return 0, err
	}
	buf := make([]T, 32)
	for {
		n, err := r.Read(buf)
		rows += n
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
	}
}

// refused checks that an error is about the file and names it.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	var in *fault.Error
	if !errors.As(err, &in) || !strings.Contains(err.Error(), "broken.parquet") {
		t.Errorf("%s: %v", what, err)
	}
}

func TestTruncated(t *testing.T) {
	data := fileOf(t, varied(10))
	for n := 0; n < len(data); n += 1 + n/10 {
		_, err := readAll[formats.Trajectory](data[:n])
		refused(t, fmt.Sprint("the first ", n, " bytes"), err)
	}
}

func TestNotParquet(t *testing.T) {
	for _, text := range []string{"", "PAR1", "{\"id\":1}\n{\"id\":2}\n", strings.Repeat("PAR1", 100),
		"PAR1\xff\xff\xff\xffPAR1"} {
		_, err := readAll[formats.Trajectory]([]byte(text))
		refused(t, text, err)
	}
}

func TestWrongSchema(t *testing.T) {
	data := fileOf(t, varied(1))
	_, err := readAll[formats.GroupStats](data)
	refused(t, "other rows", err)
	_, err = readAll[struct {
		Reward string `parquet:"reward,optional"`
	}](data)
	refused(t, "a reward that is text", err)
	if err == nil || !strings.Contains(err.Error(), "column reward is DOUBLE, not BYTE_ARRAY") {
		t.Error(err)
	}
	_, err = readAll[struct {
		Messages string `parquet:"messages"`
	}](data)
	refused(t, "messages that are text", err)
}

// Whichever bytes change, reading gives an error that names the file, or rows.
// It never panics, and never uses more memory than the file can justify.
func TestFlippedBytes(t *testing.T) {
	data := fileOf(t, varied(4))
	r := rand.New(rand.NewPCG(3, 4))
	peak := uint64(0)
	for range 1000 {
		bad := bytes.Clone(data)
		for range 1 + r.IntN(4) {
			at := r.IntN(len(bad))
			if r.IntN(2) == 0 { // most claims of a file are in its footer
				at = len(bad) - 1 - r.IntN(min(len(bad), 12000))
			}
			bad[at] = byte(r.Uint32())
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readAll[formats.Trajectory](bad)
		runtime.ReadMemStats(&after)
		peak = max(peak, after.TotalAlloc-before.TotalAlloc)
		if err != nil {
			refused(t, "flipped bytes", err)
		}
	}
	if peak > 1<<30 {
		t.Errorf("reading a file of %d bytes allocated %d", len(data), peak)
	}
}

// forge makes a file with one page of one column of numbers, with the given
// header; or with other bytes in place of the page.
func forge(page format.PageHeader, body []byte, change func(*format.FileMetaData), instead ...byte) []byte {
	type row struct {
		N int64 `parquet:"n"`
	}
	l := layout.Of[row]()
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &page)
	if err != nil {
		panic(err)
	}
	if instead != nil {
		head, body = nil, instead
	}
	var out bytes.Buffer
	t := &fileWriter{out: bufio.NewWriter(&out), deferred: []bool{false}}
	t.meta = format.FileMetaData{Version: 2, Schema: l.Meta.Schema, NumRows: 1,
		RowGroups: []format.RowGroup{{NumRows: 1, Columns: []format.ColumnChunk{{
			MetaData: format.ColumnMetaData{Type: format.Int64, PathInSchema: []string{"n"}, Codec: format.Zstd,
				NumValues: 1 << 40, DataPageOffset: 4,
				TotalCompressedSize: int64(len(head) + len(body))},
		}}}}}
	if change != nil {
		change(&t.meta)
	}
	for _, p := range [][]byte{[]byte(layout.Magic), head, body} {
		if err := t.write(p); err != nil {
			panic(err)
		}
	}
	if err := t.writeFooter(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func v2(values int, enc format.Encoding, compressed, inflated int) format.PageHeader {
	return format.PageHeader{Type: format.DataPageV2, CompressedPageSize: int32(compressed),
		UncompressedPageSize: int32(inflated),
		DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{NumValues: int32(values), NumRows: int32(values),
			Encoding: enc, IsCompressed: thrift.New(true)})}
}

func squeezed(data []byte, o ...zstd.EOption) []byte {
	w, err := zstd.NewWriter(nil, o...)
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(data, nil)
}

// streamed is a frame that does not say how much it holds.
func streamed(n int) []byte {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	if err != nil {
		panic(err)
	}
	zeros := make([]byte, 1<<20)
	for range n >> 20 {
		if _, err := w.Write(zeros); err != nil {
			panic(err)
		}
	}
	w.Close()
	return out.Bytes()
}

func TestFalseClaimsInPages(t *testing.T) {
	bomb := streamed(1 << 30)
	one := squeezed(binary.LittleEndian.AppendUint64(nil, 7))
	delta := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), 1<<30), 0)
	type row struct {
		N int64 `parquet:"n"`
	}
	if rows, err := readAll[row](forge(v2(1, format.Plain, len(one), 8), one, nil)); rows != 1 || err != nil {
		t.Fatalf("an honest page: %d rows, %v", rows, err)
	}
	for what, data := range map[string][]byte{
		"inflates without end":              forge(v2(1, format.Plain, len(bomb), 8), bomb, nil),
		"inflates without end, and says so": forge(v2(1<<27, format.Plain, len(bomb), 1<<30), bomb, nil),
		"claims more bytes than it has":     forge(v2(1, format.Plain, 1<<30, 8), one, nil),
		"claims more than it inflates to":   forge(v2(1, format.Plain, len(one), 200<<20), one, nil),
		"claims a billion values":           forge(v2(1<<30, format.Plain, len(one), 8), one, nil),
		"claims a billion delta values": forge(v2(1, format.DeltaBinaryPacked, len(squeezed(delta)), len(delta)),
			squeezed(delta), nil),
		"claims fewer values":          forge(v2(0, format.Plain, len(one), 8), one, nil),
		"is in an encoding of its own": forge(v2(1, format.Encoding(77), len(one), 8), one, nil),
		"is a dictionary page alone": forge(format.PageHeader{Type: format.DictionaryPage,
			CompressedPageSize: int32(len(one)), UncompressedPageSize: 8,
			DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1})}, one, nil),
		"indexes no dictionary": forge(v2(1, format.RLEDictionary, len(squeezed([]byte{1, 2, 1})), 3),
			squeezed([]byte{1, 2, 1}), nil),
		"has runs without end": forge(v2(1, format.RLEDictionary, len(squeezed([]byte{1, 254, 255, 255, 255, 15, 0})), 7),
			squeezed([]byte{1, 254, 255, 255, 255, 15, 0}), nil),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readAll[row](data)
		runtime.ReadMemStats(&after)
		refused(t, what, err)
		if got := after.TotalAlloc - before.TotalAlloc; got > layout.MaxPage+64<<20 {
			t.Errorf("a page that %s: %d bytes allocated", what, got)
		}
		t.Logf("a page that %s: %v", what, err)
	}
}

func TestFalseClaimsInFooters(t *testing.T) {
	one := squeezed(binary.LittleEndian.AppendUint64(nil, 7))
	type row struct {
		N int64 `parquet:"n"`
	}
	chunk := func(f func(*format.ColumnMetaData)) func(*format.FileMetaData) {
		return func(m *format.FileMetaData) { f(&m.RowGroups[0].Columns[0].MetaData) }
	}
	for what, change := range map[string]func(*format.FileMetaData){
		"more rows than its row groups": func(m *format.FileMetaData) { m.NumRows = 2 },
		"more rows than its pages":      func(m *format.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = 1<<40, 1<<40 },
		"fewer than no rows":            func(m *format.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = -1, -1 },
		"a chunk past the end":          chunk(func(m *format.ColumnMetaData) { m.TotalCompressedSize = 1 << 50 }),
		"a chunk before the start":      chunk(func(m *format.ColumnMetaData) { m.DataPageOffset = -8 }),
		"a chunk in the footer":         chunk(func(m *format.ColumnMetaData) { m.DataPageOffset += 20 }),
		"two columns": func(m *format.FileMetaData) {
			m.RowGroups[0].Columns = append(m.RowGroups[0].Columns, m.RowGroups[0].Columns...)
		},
		"a schema that does not add up": func(m *format.FileMetaData) { m.Schema = m.Schema[:1] },
		"no schema":                     func(m *format.FileMetaData) { m.Schema = nil },
		"a codec that does not exist":   chunk(func(m *format.ColumnMetaData) { m.Codec = 99 }),
		"a page index past the end": func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[0].OffsetIndexOffset, m.RowGroups[0].Columns[0].OffsetIndexLength = 1<<50, 8
		},
		"a page index of negative length": func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].OffsetIndexLength = -8 },
	} {
		_, err := readAll[row](forge(v2(1, format.Plain, len(one), 8), one, change))
		refused(t, what, err)
		t.Logf("%s: %v", what, err)
	}
}

// A list in a footer may claim two billion elements in three bytes, and the
// decoder would allocate memory for them.
func TestFalseLengthsOfThriftLists(t *testing.T) {
	var f []byte
	f = append(f, 0x15, 4)                                     // 1: version
	f = append(f, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0) // 2: a list of 2^31-1 structures
	file := append([]byte(layout.Magic), f...)
	file = append(binary.LittleEndian.AppendUint32(file, uint32(len(f))), layout.Magic...)
	_, err := readAll[formats.Score](file)
	refused(t, "a long list", err)
}
