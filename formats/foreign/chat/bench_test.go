package chat_test

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// small is a conversation of three messages and about 500 bytes.
func small(i int) []byte {
	question := fmt.Sprintf("What is %d plus %d? %s", i, i+1, strings.Repeat("Think before you answer. ", 4))
	answer := fmt.Sprintf("It is %d.\\n%s", 2*i+1, strings.Repeat("The sum of both numbers. ", 6))
	return fmt.Appendf(nil, `{"messages": [{"role": "system", "content": "You are a careful assistant that adds numbers."}, {"role": "user", "content": "%s"}, {"role": "assistant", "content": "%s"}], "id": "row-%d", "source": "sums"}`, question, answer, i)
}

// processor returns the time that the process has used: on a busy machine it
// says more than the time that passed.
func processor(b *testing.B) time.Duration {
	var now syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &now); err != nil {
		b.Fatal(err)
	}
	return time.Duration(now.Utime.Nano() + now.Stime.Nano())
}

// report reports the processor time of a row since a time.
func report(b *testing.B, since time.Duration, rows int) {
	b.ReportMetric(float64((processor(b)-since).Nanoseconds())/float64(b.N*rows), "cpu-ns/row")
}

func BenchmarkParseChat(b *testing.B) {
	data := small(7)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	since := processor(b)
	for b.Loop() {
		r := importers.Record{Data: data}
		if items, err := chat.Parse(&r); err != nil || len(items) != 1 {
			b.Fatal(err)
		}
	}
	report(b, since, 1)
}

// From the bytes of a file of JSON lines to finished items.
func BenchmarkImportChat(b *testing.B) {
	const rows = 2000
	var file []byte
	for i := range rows {
		file = append(append(file, small(i)...), '\n')
	}
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	since := processor(b)
	for b.Loop() {
		n := 0
		for p, err := range foreigntest.All(chat.Importer, importers.File{Name: "x.jsonl", R: bytes.NewReader(file),
			Size: int64(len(file))}) {
			if err != nil || p.Err != nil {
				b.Fatal(err, p.Err)
			}
			n += len(p.Items)
		}
		if n != rows {
			b.Fatal(n)
		}
	}
	report(b, since, rows)
}
