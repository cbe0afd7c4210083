package convert_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/pipelines/convert"
)

// BenchmarkChat imports the rows of testdata/bench/import.py, and reports the
// processor time of each.
func BenchmarkChat(b *testing.B) {
	const n = 100_000
	var lines strings.Builder
	for i := range n {
		prompt, attempt := i/4, i%4
		x, y := prompt*7919%1000, prompt*104729%1000
		fmt.Fprintf(&lines, `{"id":"row-%d","messages":[{"role":"system","content":"You are a careful assistant that adds numbers and explains each step in a short sentence."},`+
			`{"role":"user","content":"Question %d: what is %d plus %d? Answer with the number, then with one sentence about how you found it."},`+
			`{"role":"assistant","content":"%d. I added the ones first, carried what was over, and then added the tens and the hundreds, which gives %d in attempt %d."}],`+
			`"reward":%s,"source":"sums"}`+"\n", i, prompt, x, y, x+y, x+y, attempt, []string{"0.25", "1.0"}[attempt%2])
	}
	source := text("a.jsonl", lines.String())
	b.ResetTimer()
	cpu := processorTime()
	for i := range b.N {
		o := options(filepath.Join(b.TempDir(), fmt.Sprint(i)), source)
		o.Format = chat.Importer
		if _, err := convert.Import(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(processorTime()-cpu)/float64(b.N*n), "cpu-ns/row")
}

// processorTime returns the nanoseconds that the process has used.
func processorTime() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for no process
	return u.Utime.Nano() + u.Stime.Nano()
}
