package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"strings"
	"sync"

	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// epoch returns a file of several row groups with small and large groups: some
// share a page, some have one, one has several. It is made once and must not be
// changed.
func epoch(t testing.TB) (groups [][]formats.Trajectory, data []byte, f *layout.File) {
	t.Helper()
	groups, data = madeEpoch()
	f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "epoch")
	if err != nil {
		t.Fatal(err)
	}
	return groups, data, f
}

var madeEpoch = sync.OnceValues(func() (groups [][]formats.Trajectory, data []byte) {
	for rows := range randomtest.Trajectories(5,
		randomtest.Options{Groups: 1100, Generations: 8, SampledTokens: 50, PromptTokens: 30, Messages: 3, Scored: true}) {
		groups = append(groups, rows)
	}
	for i := 10; i < len(groups); i += 50 {
		for j := range groups[i] {
			groups[i][j].Messages[0].Content += strings.Repeat("large ", 20<<10)
		}
	}
	for j := range groups[33] {
		groups[33][j].Messages[0].Content += strings.Repeat("huge ", 400<<10)
	}
	var buf bytes.Buffer
	w := NewWriter[formats.Trajectory](&buf)
	for _, rows := range groups {
		if err := w.Write(rows); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return groups, buf.Bytes()
})

func isHeavy(f *layout.File, c int) bool { return layout.Heavy[layout.ColumnName(f.Leaves[c].Path)] }

// wholeFooter returns all that a file's footer says.
func wholeFooter(t testing.TB, f *layout.File) *format.FileMetaData {
	t.Helper()
	meta, _, err := readFooter(f.Src, f.Src.(interface{ Size() int64 }).Size(), f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return meta
}

// TestSplitsHoldEveryRowGroup takes the splits of a file as parquet-java does: a split
// has the row groups whose middle, counted from their first column, lies in it.
func TestSplitsHoldEveryRowGroup(t *testing.T) {
	type nested struct { // its heavy leaves are all within a list
		TrajectoryID string            `parquet:"trajectory_id"`
		Messages     []formats.Message `parquet:"messages,list"`
	}
	groups, data, f := epoch(t)
	var out bytes.Buffer
	w := NewWriter[nested](&out)
	for _, rows := range groups {
		var some []nested
		for i := range rows {
			some = append(some, nested{rows[i].TrajectoryID, rows[i].Messages})
		}
		if err := w.Write(some); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	g, err := layout.Open(bytes.NewReader(out.Bytes()), int64(out.Len()), "nested")
	if err != nil {
		t.Fatal(err)
	}
	inSplits(t, f, int64(len(data)))
	inSplits(t, g, int64(out.Len()))
}

func inSplits(t *testing.T, f *layout.File, size int64) {
	t.Helper()
	meta := wholeFooter(t, f)
	used := map[int64]bool{}
	each := size / int64(len(meta.RowGroups))
	before := int64(-1)
	for i, g := range meta.RowGroups {
		var compressed, inflated int64
		for c := range g.Columns {
			compressed += g.Columns[c].MetaData.TotalCompressedSize
			inflated += g.Columns[c].MetaData.TotalUncompressedSize
		}
		if g.TotalCompressedSize != compressed || g.TotalByteSize != inflated {
			t.Errorf("row group %d has %d bytes, %d inflated; its chunks have %d and %d", i, g.TotalCompressedSize,
				g.TotalByteSize, compressed, inflated)
		}
		m := &g.Columns[0].MetaData
		start := layout.FirstPage(m.DataPageOffset, m.DictionaryPageOffset)
		if g.FileOffset != start {
			t.Errorf("row group %d begins at %d, its first column at %d", i, g.FileOffset, start)
		}
		middle := start + g.TotalCompressedSize/2
		if middle <= before || middle >= size {
			t.Errorf("the middle of row group %d is at %d of %d, that of the one before at %d", i, middle, size, before)
		}
		used[middle/each], before = true, middle
	}
	if len(meta.RowGroups) < 3 || len(used) < 2 { // the last row group is small
		t.Errorf("%d row groups lie in %d splits of %d bytes", len(meta.RowGroups), len(used), each)
	}
}

func TestRowGroupsHoldWholeGroups(t *testing.T) {
	groups, _, f := epoch(t)
	starts := map[int64]bool{}
	at := int64(0)
	for _, g := range groups {
		starts[at] = true
		at += int64(len(g))
	}
	at = 0
	for _, rows := range rowGroups(f) {
		if !starts[at] {
			t.Errorf("a row group begins at row %d, inside a group", at)
		}
		if rows > rowGroupRows {
			t.Errorf("a row group has %d rows", rows)
		}
		at += rows
	}
	if len(rowGroups(f)) < 3 {
		t.Errorf("%d row groups: the test wants several", len(rowGroups(f)))
	}
}

// Every page of a heavy leaf begins at a group, or belongs to a single group.
func TestHeavyPagesBeginAtGroups(t *testing.T) {
	groups, _, f := epoch(t)
	groupOf := map[int64]int{} // of a first row
	at := int64(0)
	var ends []int64
	for i, g := range groups {
		groupOf[at] = i
		at += int64(len(g))
		ends = append(ends, at)
	}
	pages, shared, split := 0, 0, 0
	first := int64(0)
	for g := range f.Meta.RowGroups {
		group := &f.Meta.RowGroups[g]
		for c := range group.Columns {
			if !isHeavy(f, c) {
				continue
			}
			locations, err := layout.PagesOf(f.Src, &group.Columns[c])
			if err != nil {
				t.Fatal(err)
			}
			current := -1
			for i, p := range locations {
				pages++
				row := first + p.FirstRowIndex
				end := first + group.NumRows
				if i+1 < len(locations) {
					end = first + locations[i+1].FirstRowIndex
				}
				if g, ok := groupOf[row]; ok {
					current = g
					if end > ends[g] {
						shared++
					}
				} else if split++; end > ends[current] {
					t.Errorf("a page holds the rest of group %d and more", current)
				}
			}
		}
		first += group.NumRows
	}
	if shared == 0 || split == 0 || shared+split == pages {
		t.Errorf("%d pages: %d shared by groups, %d of a part of one; the test wants some of each", pages, shared, split)
	}
}

// The light chunks of all row groups are together after the last heavy one,
// column by column, and after them the column indexes and offset indexes in
// (row group, column) order.
func TestLightChunksLieAtTheTail(t *testing.T) {
	_, data, f := epoch(t)
	var heavyEnd, at int64
	for g := range f.Meta.RowGroups {
		for c := range f.Meta.RowGroups[g].Columns {
			if isHeavy(f, c) {
				_, end := layout.Span(&f.Meta.RowGroups[g].Columns[c].MetaData)
				heavyEnd = max(heavyEnd, end)
			}
		}
	}
	at = heavyEnd
	for c := range f.Leaves {
		for g := range f.Meta.RowGroups {
			if isHeavy(f, c) {
				continue
			}
			start, end := layout.Span(&f.Meta.RowGroups[g].Columns[c].MetaData)
			if start != at {
				t.Fatalf("chunk %v of row group %d begins at %d, not %d", f.Leaves[c].Path, g, start, at)
			}
			at = end
		}
	}
	for _, index := range []func(*layout.ChunkMeta) (int64, int32){
		func(c *layout.ChunkMeta) (int64, int32) { return c.ColumnIndexOffset, c.ColumnIndexLength },
		func(c *layout.ChunkMeta) (int64, int32) { return c.OffsetIndexOffset, c.OffsetIndexLength },
	} {
		for g := range f.Meta.RowGroups {
			if n := wholeFooter(t, f).RowGroups[g].Ordinal; int(n) != g {
				t.Errorf("row group %d has ordinal %d", g, n)
			}
			for c := range f.Meta.RowGroups[g].Columns {
				off, n := index(&f.Meta.RowGroups[g].Columns[c])
				if n == 0 && f.Meta.RowGroups[g].Columns[c].OffsetIndexLength > 0 {
					continue // without bounds there is no column index
				}
				if off != at {
					t.Fatalf("an index lies at %d, not %d", off, at)
				}
				at += int64(n)
			}
		}
	}
	if tail := int64(len(data)) - heavyEnd; tail*3 > int64(len(data)) {
		t.Errorf("the tail has %d of %d bytes", tail, len(data))
	}
}

func TestHeavyLeavesHaveNoStatisticsAndNoDictionary(t *testing.T) {
	_, _, f := epoch(t)
	seen := map[string]bool{}
	for g, group := range wholeFooter(t, f).RowGroups {
		for c := range group.Columns {
			m := &group.Columns[c].MetaData
			name := layout.ColumnName(m.PathInSchema)
			seen[name] = true
			if m.Codec != format.Zstd {
				t.Errorf("%s is compressed with %s", name, m.Codec)
			}
			s := m.Statistics
			bounds := s.MinValue != nil || s.MaxValue != nil || s.Min != nil || s.Max != nil
			if layout.Heavy[name] && (bounds || m.DictionaryPageOffset != 0) {
				t.Errorf("%s has bounds (%v) or a dictionary (at %d)", name, bounds, m.DictionaryPageOffset)
			}
			if (name == "example_id" || name == "reward") && !bounds {
				t.Errorf("%s has no bounds", name)
			}
			var raw page.RawPage
			start, end := layout.Span(&f.Meta.RowGroups[g].Columns[c].MetaData)
			w := page.Window{Src: f.Src, At: start, End: end, Ahead: page.ReadAhead}
			for w.Next(&raw) == nil && layout.Heavy[name] {
				if s := raw.Header.DataPageHeaderV2.V.Statistics; s.MinValue != nil || s.Max != nil {
					t.Fatalf("a page header of %s has bounds", name)
				}
			}
		}
	}
	for name := range layout.Heavy {
		if !seen[name] {
			t.Errorf("heavy leaf %s is no column of a trajectory", name)
		}
	}
}

func TestEncodings(t *testing.T) {
	_, _, f := epoch(t)
	want := map[string]format.Encoding{
		"messages.token_ids": format.Plain, "messages.prompt_delta_ids": format.Plain,
		"messages.logprobs": format.ByteStreamSplit,
		"messages.content":  format.DeltaLengthByteArray, "trajectory_id": format.DeltaLengthByteArray,
		"example_id": format.RLEDictionary,
		"generation": format.DeltaBinaryPacked, "reward": format.Plain, "messages.role": format.RLEDictionary,
	}
	for c := range f.Meta.RowGroups[0].Columns {
		m := &f.Meta.RowGroups[0].Columns[c].MetaData
		enc, ok := want[layout.ColumnName(f.Leaves[c].Path)]
		for _, s := range m.EncodingStats {
			if ok && s.PageType == format.DataPageV2 && s.Encoding != enc {
				t.Errorf("%v is in %s, not %s", f.Leaves[c].Path, s.Encoding, enc)
			}
		}
	}
	if f.Meta.Schema[0].Name != "trajectory" {
		t.Errorf("the schema is named %q", f.Meta.Schema[0].Name)
	}
	for _, kv := range f.Meta.KeyValueMetadata {
		t.Errorf("metadata %q: arrow-go would believe an ARROW:schema", kv.Key)
	}
}

// arrow-go reads everything that we read; the two share no code.
func TestArrowReadsTheSame(t *testing.T) {
	groups := varied(60)
	sameInArrow(t, flat(groups), fileOf(t, groups))
}

func sameInArrow(t testing.TB, want []formats.Trajectory, data []byte) {
	t.Helper()
	table := arrowTable(t, data)
	defer table.Release()
	if table.NumRows() != int64(len(want)) {
		t.Fatalf("%d rows", table.NumRows())
	}
	records := array.NewTableReader(table, 16)
	defer records.Release()
	at := 0
	for records.Next() {
		rec := records.RecordBatch()
		for i := range int(rec.NumRows()) {
			same(t, jsonOf(t, want[at]), arrowRow(t, rec, i))
			at++
		}
	}
	if at != len(want) {
		t.Fatalf("%d of %d rows", at, len(want))
	}
}

func arrowTable(t testing.TB, data []byte) arrow.Table {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	fr, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := fr.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// readFooter returns the metadata of a file, and the digest of its footer.
func readFooter(src io.ReaderAt, size int64, name string) (*format.FileMetaData, string, error) {
	end := make([]byte, 8)
	if _, err := src.ReadAt(end, size-8); err != nil {
		return nil, "", err
	}
	footer := make([]byte, binary.LittleEndian.Uint32(end))
	if _, err := src.ReadAt(footer, size-8-int64(len(footer))); err != nil {
		return nil, "", err
	}
	meta := new(format.FileMetaData)
	err := thrift.Unmarshal(new(thrift.CompactProtocol), footer, meta)
	return meta, layout.DigestOf(append(footer, end...)), err
}

// rowGroups returns the number of rows of each row group.
func rowGroups(f *File) (rows []int64) {
	for i := range f.Meta.RowGroups {
		rows = append(rows, f.Meta.RowGroups[i].NumRows)
	}
	return rows
}
