package examples

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/storage/fault"
)

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// weighed is a file that measures the heap while its last quarter is read.
type weighed struct {
	io.ReaderAt
	from int64
	heap int64
}

func (w *weighed) ReadAt(p []byte, off int64) (int, error) {
	if w.heap == 0 && off >= w.from {
		w.heap = heap()
	}
	return w.ReaderAt.ReadAt(p, off)
}

// live returns how many bytes of the heap reading a file keeps alive, in its
// last quarter and afterwards.
func live(t *testing.T, name, text string) (during, after int64) {
	t.Helper()
	file := &weighed{ReaderAt: strings.NewReader(text), from: int64(len(text)) * 3 / 4}
	before := heap()
	set, report, err := Read(name, file, int64(len(text)), Options{RequireQuestion: true})
	if err != nil {
		t.Fatal(err)
	}
	after = heap()
	if set.Len() == 0 || len(report.Drops) > 100 {
		t.Errorf("%d examples, %d drops are listed", set.Len(), len(report.Drops))
	}
	runtime.KeepAlive(text)
	if err := set.Close(); err != nil {
		t.Error(err)
	}
	if file.heap == 0 {
		t.Fatal("the heap was not weighed")
	}
	return file.heap - before, after - before
}

// After an example was read, only the entry that finds its id is in memory, and
// none of its text, whatever the format and whether it was kept; before that
// nothing is, except in a column map.
func TestMemoryOfASetDoesNotGrowWithItsText(t *testing.T) {
	spooling(t, 16<<10)
	readBytes = 16 << 10
	defer func() { readBytes = 0 }()
	pad := strings.Repeat("x", 300)
	table := func(head, row, between, end string, n int) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			if i > 0 {
				b.WriteString(between)
			}
			fmt.Fprintf(&b, row, i, pad)
		}
		return b.String() + end
	}
	for name, make := range map[string]func(n int) string{
		"x.jsonl":    func(n int) string { return table("", `{"id":"ex-%d","question":"%s"}`, "\n", "", n) },
		"x.json":     func(n int) string { return table("[", `{"id":"ex-%d","question":"%s"}`, ",", "]", n) },
		"x.csv":      func(n int) string { return table("id,question\n", "ex-%d,%s", "\n", "", n) },
		"anon.jsonl": func(n int) string { return table("", `{"n":%d,"question":"%s"}`, "\n", "", n) },
		"drops.jsonl": func(n int) string {
			return table("", `{"id":"ex-%d","question":" ","a":"%s"}`, "\n", "\n{\"id\":1,\"question\":\"q\"}", n)
		},
		"rows.jsonl": func(n int) string {
			return table("", `{"id":"row-%d","question":"%s"}`, "\n", "\n{\"question\":\"q\"}", n)
		},
		"column.json": func(n int) string { return `{"question":` + table("{", `"%d":"%s"`, ",", "}}", n) },
		"double.jsonl": func(n int) string {
			return strings.Repeat(table("", `{"id":"ex-%d","question":"%s"}`, "\n", "\n", n/2), 2)
		},
	} {
		const n = 1000
		reading, few := live(t, name, make(n))
		readingMore, many := live(t, name, make(8*n))
		during, each := float64(readingMore-reading)/(7*n), float64(many-few)/(7*n)
		if each > 24 || during > 24 && name != "column.json" {
			t.Errorf("%s: %.0f bytes of each example stay in memory, %.0f while it is read", name, each, during)
		} else {
			t.Logf("%s: %.1f bytes of each example stay in memory, %.1f while it is read", name, each, during)
		}
	}
}

// JSON lines in a file named .json are recognised by their second line,
// whatever the size of the file.
func TestJSONLinesNamedJSONAreNotReadWhole(t *testing.T) {
	var text strings.Builder
	for i := range 200000 {
		fmt.Fprintf(&text, "{\"id\":\"ex-%d\",\"question\":\"%s\"}\n", i, strings.Repeat("x", 100))
	}
	file := &counted{ReaderAt: strings.NewReader(text.String())}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := Read("x.json", file, int64(text.Len()), Options{})
	runtime.ReadMemStats(&after)
	in := (*fault.Error)(nil)
	if !errors.As(err, &in) || !strings.Contains(err.Error(), "line 2: a second value follows the first") || !strings.Contains(fault.HintOf(in), "jsonl") {
		t.Errorf("got %v", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; file.read > 4<<20 || got > 8<<20 {
		t.Errorf("of %d bytes %d were read, and %d allocated", text.Len(), file.read, got)
	}
}

type counted struct {
	io.ReaderAt
	read int64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.read += int64(n)
	return n, err
}
