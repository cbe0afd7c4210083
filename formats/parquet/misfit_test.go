package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/storage/fault"
)

type wideRow struct {
	Plain int64     `parquet:"plain"`
	Maybe *int64    `parquet:"maybe,optional"`
	List  []int64   `parquet:"list,list"`
	Deep  []wideOne `parquet:"deep,list"`
}

type wideOne struct {
	Value *int64    `parquet:"value,optional"`
	Some  []float64 `parquet:"some,list"`
}

type narrowRow struct {
	Plain int32       `parquet:"plain"`
	Maybe *int32      `parquet:"maybe,optional"`
	List  []int32     `parquet:"list,list"`
	Deep  []narrowOne `parquet:"deep,list"`
}

type narrowOne struct {
	Value *int32    `parquet:"value,optional"`
	Some  []float32 `parquet:"some,list"`
}

// TestAValueThatDoesNotFitIsNamed with its column, wherever its page and its list begin, and is no
// sign that the file is damaged.
func TestAValueThatDoesNotFitIsNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 7, 300, 9000}).Draw(t, "rows")
		at, where := rapid.IntRange(0, n-1).Draw(t, "row"), rapid.IntRange(0, 4).Draw(t, "column")
		few := rapid.IntRange(0, 3).Draw(t, "elements")
		rows := make([]wideRow, n)
		for i := range rows {
			rows[i].Plain = int64(i * 7919)
			for k := range (i + few) % 4 {
				rows[i].List = append(rows[i].List, int64(k))
				rows[i].Deep = append(rows[i].Deep, wideOne{Some: make([]float64, (i+k)%3)})
			}
			if i%3 > 0 {
				rows[i].Maybe = new(int64(i))
			}
		}
		const big = 5_000_000_000
		x, says := &rows[at], fmt.Sprintf("%d does not fit into 32 bits", big)
		switch where {
		case 0:
			x.Plain = big
		case 1:
			x.Maybe = new(int64(big))
		case 2:
			x.List = append(x.List, big)
		case 3:
			x.Deep = append(x.Deep, wideOne{Value: new(int64(big))})
		case 4:
			x.Deep, says = append(x.Deep, wideOne{Some: []float64{0, 1e300}}), "1e+300 does not fit into a float of 32 bits"
		}
		var file bytes.Buffer
		w := parquet.NewWriter[wideRow](&file)
		err := errors.Join(w.Write(rows), w.Close())
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), "f.parquet")
		if err != nil {
			t.Fatal(err)
		}
		first := rapid.IntRange(0, at).Draw(t, "first")
		r, err := parquet.NewReader[narrowRow](f, int64(first), int64(n-first))
		buf := make([]narrowRow, rapid.IntRange(1, 5000).Draw(t, "at once"))
		for err == nil {
			clear(buf)
			_, err = r.Read(buf)
		}
		var bad *fault.Error
		column := []string{"plain", "maybe", "list", "deep.value", "deep.some"}[where]
		if !errors.As(err, &bad) || bad.Row != int64(at) || bad.What != "column "+column+": "+says || strings.Contains(fault.HintOf(bad), "truncated") {
			t.Fatalf("row %d, %s: %v", at, column, err)
		}
	})
}
