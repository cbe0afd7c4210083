package page

import (
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// A page of a few bytes that repeats a long text needs the memory of all its
// values.
func TestPrefixesAreBounded(t *testing.T) {
	const n = 1 << 20
	prefixes := make([]int32, n)
	suffixes := make([]int32, n)
	text := strings.Repeat("x", 1<<20)
	suffixes[0] = int32(len(text))
	for i := 1; i < n; i++ {
		prefixes[i] = int32(len(text))
	}
	data, err := pq.DeltaBinaryPacked.EncodeInt32(nil, prefixes)
	if err != nil {
		t.Fatal(err)
	}
	more, err := pq.DeltaBinaryPacked.EncodeInt32(nil, suffixes)
	if err != nil {
		t.Fatal(err)
	}
	c := Column{Node: &layout.Node{Kind: format.ByteArray}, Scratch: true, Budget: (&layout.File{Budget: 512 << 20}).NewBudget()}
	if err := c.decode(new(layout.Values), append(append(data, more...), text...), format.DeltaByteArray, n); err == nil ||
		!strings.Contains(err.Error(), "bytes of memory at once") {
		t.Errorf("%v", err)
	}
}
