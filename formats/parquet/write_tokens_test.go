package parquet

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	pq "github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
)

type tokenRow struct {
	Name     string    `parquet:"name"`
	IDs      []int32   `parquet:"ids,list" parquet-element:",dict"`
	Maybe    []int32   `parquet:"maybe,optional,list" parquet-element:",dict"`
	Mask     []bool    `parquet:"mask,list"`
	Logprobs []float32 `parquet:"logprobs,list" parquet-element:",split"`
}

// TestTokensAreRead: lists of tokens of any length are read back, here and by
// arrow-go: few different ids, or as many as tokens.
func TestTokensAreRead(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SampledFrom([]int32{0, -5, 1<<20 - 3, 1<<31 - 9}).Draw(t, "first")
		distinct := rapid.SampledFrom([]int32{1, 3, 300, 1 << 20}).Draw(t, "distinct")
		var groups [][]tokenRow
		next := int32(0)
		for range rapid.IntRange(1, 4).Draw(t, "groups") {
			rows := make([]tokenRow, rapid.IntRange(1, 3).Draw(t, "rows"))
			for i := range rows {
				for range rapid.SampledFrom([]int{0, 1, 9, 1000, 3000}).Draw(t, "length") {
					id := first + next%distinct
					rows[i].IDs = append(rows[i].IDs, id)
					rows[i].Mask = append(rows[i].Mask, next%3 == 0)
					rows[i].Logprobs = append(rows[i].Logprobs, float32(next/2000%2)*float32(next))
					if i%2 == 0 {
						rows[i].Maybe = append(rows[i].Maybe, -id)
					}
					next++
				}
			}
			groups = append(groups, rows)
		}
		data := fileOf(outer, groups)
		f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "tokens")
		if err != nil {
			t.Fatal(err)
		}
		r, err := reader.NewReader[tokenRow](f, 0, f.Rows())
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Concat(groups...)
		got := make([]tokenRow, len(want))
		if n, err := r.Read(got); n != len(want) {
			t.Fatalf("%d of %d rows: %v", n, len(want), err)
		}
		for i := range want {
			g, w := got[i], want[i]
			if g.Name != w.Name || !slices.Equal(g.IDs, w.IDs) || !slices.Equal(g.Maybe, w.Maybe) ||
				!slices.Equal(g.Mask, w.Mask) ||
				!slices.Equal(g.Logprobs, w.Logprobs) {
				t.Fatalf("row %d of %d differs", i, len(want))
			}
		}
		table := arrowTable(outer, data)
		defer table.Release()
		records := array.NewTableReader(table, int64(len(want)))
		defer records.Release()
		for at := 0; records.Next(); {
			rec := records.RecordBatch()
			for i := range int(rec.NumRows()) {
				if !reflect.DeepEqual(jsonOf(outer, want[at]), arrowRow(outer, rec, i)) {
					t.Fatalf("arrow-go reads row %d of %d as another", at, len(want))
				}
				at++
			}
		}
	})
}

// TestTokensHaveNoBounds: the pages of other columns do.
func TestTokensHaveNoBounds(t *testing.T) {
	data := fileOf(t, [][]tokenRow{{{Name: "a", IDs: []int32{1}, Mask: []bool{true}, Logprobs: []float32{-1}}}})
	f, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range f.Metadata().RowGroups[0].Columns {
		if has := c.MetaData.Statistics.MinValue != nil; has != (i == 0) {
			t.Errorf("column %s: bounds %v", c.MetaData.PathInSchema, has)
		}
	}
}

// TestManyIDsAreRead: the indexes of more ids than two bytes count are read back.
func TestManyIDsAreRead(t *testing.T) {
	var rows []tokenRow
	for i := range int32(6) {
		rows = append(rows, tokenRow{})
		for id := range int32(30_000) {
			rows[i].IDs = append(rows[i].IDs, i/2*30_000+id, -id)
		}
	}
	data := fileOf(t, [][]tokenRow{rows[:2], rows[2:]})
	for i, got := range read[tokenRow](t, data, 0, 6) {
		if !slices.Equal(got.IDs, rows[i].IDs) {
			t.Errorf("row %d differs", i)
		}
	}
}

// TestLongSequencesEndRowGroups: memory does not grow with the length of the rows.
func TestLongSequencesEndRowGroups(t *testing.T) {
	row := tokenRow{Name: "long"}
	for i := range int32(1 << 20) {
		row.Logprobs = append(row.Logprobs, 1/float32(i*7919%(1<<20)+1))
	}
	var groups [][]tokenRow
	for range 12 {
		groups = append(groups, []tokenRow{row})
	}
	data := fileOf(t, groups)
	f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "long")
	if err != nil {
		t.Fatal(err)
	}
	for i, group := range wholeFooter(t, f).RowGroups {
		if size, most := group.TotalCompressedSize, int64(tokenBytes+8<<20); size > most {
			t.Errorf("row group %d has %d bytes, want at most %d", i, size, most)
		}
	}
	if n := len(f.Meta.RowGroups); n < 2 {
		t.Errorf("%d bytes are in %d row groups", len(data), n)
	}
}
