package validate

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/rollmill/rollmill/formats/spill"
)

// BenchmarkAdd measures small rows.
func BenchmarkAdd(b *testing.B) {
	r := sound()[0]
	r.T.Messages[1].Content = "What is the capital of the country with the largest lake of the continent?"
	l := NewSourceCheck(b.TempDir(), 8<<20)
	b.ReportAllocs()
	for i := range b.N {
		r.Line, r.Record = int64(i+1), int64(i)
		r.ID = strconv.Itoa(i)
		r.Group = strconv.Itoa(i / 8)
		*r.T.Reward = float64(i % 2)
		r.T.Messages[2].Content = r.ID
		if err := l.Add(r.Group, r.Source, r.T); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// TestMemory checks that a check keeps nothing of a row but what it gives to its
// sorters, and how much that is, since an import may have millions.
func TestMemory(t *testing.T) {
	l := NewSourceCheck(t.TempDir(), 1<<16)
	r := sound()[0]
	var sizes []int
	for i := range 1 << 14 {
		r.ID, r.Group = strconv.Itoa(i), strconv.Itoa(i/8)
		r.T.Messages[2].Content = r.ID
		if err := l.Add(r.Group, r.Source, r.T); err != nil {
			t.Fatal(err)
		}
		if i == 7 || i == 1<<14-1 {
			sizes = append(sizes, elements(reflect.ValueOf(l)))
		}
	}
	if sizes[0] == 0 || sizes[0] != sizes[1] {
		t.Errorf("%d elements after a few rows, %d after the last", sizes[0], sizes[1])
	}
	for range 3 * maxRun { // a group of more rows than a run has
		if err := l.Add(r.Group, r.Source, r.T); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.n - l.run.first; n > maxRun {
		t.Errorf("a run of %d rows", n)
	}
	if allocs := testing.AllocsPerRun(100, func() { _ = l.Add(r.Group, r.Source, r.T) }); allocs > 0 {
		t.Errorf("%.0f allocations a row", allocs)
	}
}

// elements counts what a value holds in lists and maps, at any depth.
func elements(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*spill.Sorter]() {
			n = elements(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += elements(v.Field(i))
		}
	case reflect.Slice:
		n = v.Len()
		for i := range v.Len() {
			n += elements(v.Index(i))
		}
	case reflect.Map:
		n = v.Len()
		for x := v.MapRange(); x.Next(); {
			n += elements(x.Value())
		}
	}
	return n
}
