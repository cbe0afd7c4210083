package parquet

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

type listed struct {
	Name string `parquet:"name"`
	List []pair `parquet:"list,list"`
}

type pair struct {
	A int64    `parquet:"a"`
	B string   `parquet:"b"`
	C []string `parquet:"c,list"`
	D []int32  `parquet:"d,list"`
}

func listedRows() []listed {
	full := pair{A: 1, B: "b", C: []string{"c", "d"}, D: []int32{1, 2, 3}}
	return []listed{{"none", nil}, {"one", []pair{full}}, {"two", []pair{{}, full}}, {"empty", []pair{}},
		{"last", []pair{full, full}}}
}

// levelled writes rows with changed levels; the pages are complete and have
// their checksums.
func levelled(t testing.TB, rows []listed, change func(column string, reps, defs []byte)) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter[listed](&out)
	if err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	for _, c := range w.current.chunks {
		change(layout.ColumnName(c.path), c.reps, c.defs)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A list that is null or empty has no element that another could follow.
func TestListContinuesOnlyAfterAnElement(t *testing.T) {
	for _, c := range []struct {
		column string
		entry  int // that follows a null or an empty list
		rep    byte
	}{{"list.a", 1, 1}, {"list.b", 1, 1}, {"list.c", 1, 1}, {"list.c", 1, 2}, {"list.c", 4, 2}, {"list.d", 1, 2},
		{"list.d", 5, 2}} {
		data := levelled(t, listedRows(), func(name string, reps, defs []byte) {
			if name == c.column {
				reps[c.entry] = c.rep
			}
		})
		_, err := readAll[listed](data)
		refused(t, c.column, err)
		if err == nil || !strings.Contains(err.Error(), "continues a list that is null or empty") {
			t.Errorf("%s, entry %d: %v", c.column, c.entry, err)
		}
	}
}

// An element with which a list continues must exist: it has the list's level.
func TestListContinuesWithAnElement(t *testing.T) {
	data := levelled(t, listedRows(), func(name string, reps, defs []byte) {
		if i := slices.Index(reps, 1); name == "list.a" {
			defs[i] = 0
		}
	})
	_, err := readAll[listed](data)
	refused(t, "a null element that follows one", err)
}

// Columns of one list with different lengths are refused, whichever is longer.
func TestColumnsOfAListHaveTheSameLength(t *testing.T) {
	for _, column := range []string{"list.a", "list.b", "list.c"} {
		for _, rep := range []byte{0, 1} {
			data := levelled(t, listedRows(), func(name string, reps, defs []byte) {
				if name != column {
					return
				}
				last := len(reps) - 1
				for ; reps[last] != 1; last-- {
				}
				if reps[last] = 0; rep == 1 { // one list shorter, one row more; or the next row's is longer
					reps[last], reps[slices.Index(reps[1:], 0)+2] = 1, 1
				}
			})
			_, err := readAll[listed](data)
			refused(t, column, err)
		}
	}
}

func TestEveryChangedLevelEndsInRowsOrAnError(t *testing.T) {
	rows := listedRows()
	clean := levelled(t, rows, func(string, []byte, []byte) {})
	same(t, rows, read[listed](t, clean, 0, int64(len(rows))))
	for _, column := range []string{"list.a", "list.b", "list.c", "list.d"} {
		for _, which := range []int{0, 1} {
			for at := range 16 {
				for level := range byte(6) {
					changed := false
					data := levelled(t, rows, func(name string, reps, defs []byte) {
						levels := [][]byte{reps, defs}[which]
						if name == column && at < len(levels) && level <= slices.Max(levels) && level != levels[at] {
							levels[at], changed = level, true
						}
					})
					if !changed {
						continue
					}
					if _, err := readAll[listed](data); err != nil {
						refused(t, column, err)
					}
				}
			}
		}
	}
}

// Levels are compared eight at a time, as one by one.
func TestLevelsAreCompared(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		levels := make([]byte, r.IntN(40))
		for i := range levels {
			levels[i] = byte(r.IntN(3))
		}
		if len(levels) > 0 && r.IntN(2) == 0 {
			levels[r.IntN(len(levels))] = byte(r.IntN(256))
		}
		max := r.IntN(130)
		above, same := max, 0
		for _, v := range slices.Backward(levels) {
			if int(v) > max {
				above = int(v)
			}
			if same++; v != 1 {
				same = 0
			}
		}
		if got := layout.FirstAbove(levels, max); got != above {
			t.Fatalf("first above %d in %v: %d", max, levels, got)
		}
		if got := layout.PrefixOf(levels, 1); got != same {
			t.Fatalf("%v begins with %d ones, not %d", levels, same, got)
		}
	}
}
