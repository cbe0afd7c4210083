package ingest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/importers/chat"
	"github.com/rollmill/rollmill/stages/ingest"
)

// The memory of a batch is used again while rows of later batches are read, but
// not before its rows are written: groups here end in other batches than they
// begin in, and one has more rows than all batches in work.
func TestRowsOutliveTheirBatch(t *testing.T) {
	var lines strings.Builder
	var want []string
	for g, size := range []int{1, 700, 3, 2500, 1, 12_000, 999, 2, 1500} {
		for i := range size {
			answer := fmt.Sprintf("answer %d of %d", i, g)
			want = append(want, answer)
			fmt.Fprintf(&lines, `{"id":"%d-%d","messages":[{"role":"user","content":"question %d"},{"role":"assistant","content":%q}],"n":%d}`+"\n", g, i, g, answer, len(want))
		}
	}
	for _, scattered := range []bool{false, true} {
		all := lines.String()
		if scattered {
			all += `{"messages":[{"role":"user","content":"question 0"},{"role":"assistant","content":"late"}]}` + "\n"
		}
		out := filepath.Join(t.TempDir(), "out")
		o := options(out, text("a", all))
		o.Format = chat.Format
		if _, err := ingest.Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		got := rows[formats.Trajectory](t, out, "")
		if scattered {
			if late := got[1].Messages[1].Content; late != "late" {
				t.Fatalf("%q", late)
			}
			got = append(got[:1], got[2:]...)
		}
		if len(got) != len(want) {
			t.Fatalf("%d rows, not %d", len(got), len(want))
		}
		for i := range got {
			r := &got[i]
			if len(r.Messages) != 2 || r.Messages[1].Content != want[i] || r.Answer != want[i] || !strings.Contains(r.Metadata, fmt.Sprintf(`"n":%d}`, i+1)) {
				t.Fatalf("row %d: %+v, not %q", i, r, want[i])
			}
		}
	}
}
