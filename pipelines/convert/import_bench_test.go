package convert_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/pipelines/convert"
)

// BenchmarkWrite imports conversations of some 400 bytes, which cost nothing to
// parse.
func BenchmarkWrite(b *testing.B) {
	var lines strings.Builder
	const n = 20000
	for i := range n {
		fmt.Fprintf(&lines, "{\"n\":%d}\n", i)
	}
	free := format.ParsedBy(func(r *importers.Record) ([]importers.Item, error) {
		var c importers.Conversation
		c.Input(formats.Message{Role: "user", Content: string(r.Data) + strings.Repeat(" question", 20)})
		c.Sampled(formats.Message{Role: "assistant", Content: string(r.Data) + strings.Repeat(" answer", 25)}, formats.Call{Target: true, Model: "m"})
		x := importers.Item{}
		c.Into(&x.Row)
		return []importers.Item{x}, nil
	})
	for i := range b.N {
		o := options(filepath.Join(b.TempDir(), fmt.Sprint(i)), text("a", lines.String()))
		o.Format = free
		if _, err := convert.Import(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "rows/s")
}
