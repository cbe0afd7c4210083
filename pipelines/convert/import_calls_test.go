package convert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/foreign/chat"
)

// TestCallsAreCounted counts rows that are calls of attempts in the manifest, as the rows
// are stored: the source's own id may be what names the attempt.
func TestCallsAreCounted(t *testing.T) {
	for ids, want := range map[string]float64{"a a": 2, "a b": 0} {
		var lines strings.Builder
		for i, id := range strings.Fields(ids) {
			fmt.Fprintf(&lines, `{"id":"%s","step":%d,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a%d"}]}`+"\n", id, i, i)
		}
		o := options("mem://calls-"+strings.ReplaceAll(ids, " ", ""), text("a", lines.String()))
		o.Format = chat.Importer
		run(t, o)
		d, err := dataset.Open(t.Context(), o.Out.URI, dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, known := d.Facts[formats.FactPrefixRows]; !known || got != want {
			t.Errorf("%s: %v of %v are calls", ids, got, want)
		}
	}
}
