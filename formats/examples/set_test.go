package examples

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
)

// spooling makes sets keep next to nothing in memory.
func spooling(t *testing.T, memory int) {
	was := spoolMemory
	spoolMemory = memory
	t.Cleanup(func() { spoolMemory = was })
}

// plain picks with everything at hand.
func plain(t *testing.T, text string, o Options) (rows []formats.Example, drops []Drop) {
	t.Helper()
	filters, err := newFilters("x", o)
	if err != nil {
		t.Fatal(err)
	}
	all, columns, taken := []map[string]json.RawMessage{}, map[string]bool{}, map[string]bool{}
	for object := range strings.Lines(text) {
		values, keys, err := fields(json.RawMessage(object))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			columns[k] = true
		}
		all = append(all, values)
		taken[Text(values["id"])] = true
	}
	objects := strings.Split(text, "\n")
	seen := map[string]int{}
	for i, values := range all {
		e := formats.Example{ID: Text(values["id"]), Question: Text(values["question"]), Row: i, Fields: json.RawMessage(objects[i])}
		if e.ID == "" {
			for e.ID = fmt.Sprint("row-", i); taken[e.ID]; {
				e.ID += "_"
			}
		}
		refused := ""
		for _, f := range filters {
			if refused == "" && columns[f.column] && f.match.MatchString(filterText(values[f.column])) != (f.list == "allow") {
				refused = fmt.Sprintf("%s filter on %q", f.list, f.column)
			}
		}
		first, dup := seen[e.ID]
		if refused == "" && !dup {
			seen[e.ID] = i
		}
		switch {
		case refused != "":
			drops = append(drops, Drop{i, e.ID, DropFiltered, refused})
		case dup:
			drops = append(drops, Drop{i, e.ID, DropDuplicate, fmt.Sprintf("row %d has the same id", first)})
		case o.RequireQuestion && strings.TrimSpace(e.Question) == "":
			drops = append(drops, Drop{i, e.ID, DropBlank, ""})
		default:
			rows = append(rows, e)
		}
	}
	return rows, drops
}

// Out of memory or in it, the same rows are kept, and the others dropped for
// the same reasons.
func TestASpooledSetIsThePlainOne(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		spooling(t, 1+r.IntN(3)*200)
		var text strings.Builder
		text.WriteString(`{"id":"first","question":"?"}` + "\n")
		n := 1 + r.IntN(300)
		value := func(name string, values ...string) string {
			if v := values[r.IntN(len(values))]; v != "" {
				return fmt.Sprintf(`%q:%s,`, name, v)
			}
			return ""
		}
		for range n {
			k := r.IntN(n)
			fmt.Fprintf(&text, `{%s%s%s"n":%d}`+"\n", value("id", "", fmt.Sprintf(`"q%d"`, k), fmt.Sprintf(`"row-%d"`, k), fmt.Sprintf(`"row-%d_"`, k), fmt.Sprint(k), "null"),
				value("question", `"what?"`, `" "`, ""), value("topic", `"a"`, `"b"`, `"c"`, ""), r.IntN(4))
		}
		o := Options{RequireQuestion: r.IntN(2) == 0}
		for _, f := range []struct {
			to     *map[string][]string
			column string
		}{{&o.Allow, "topic"}, {&o.Deny, "n"}, {&o.Allow, "nowhere"}} {
			if r.IntN(3) == 0 {
				*f.to = map[string][]string{f.column: {"[ab1]"}}
			}
		}
		rows, drops := plain(t, text.String(), o)
		got, report := mustRead(t, "x.jsonl", text.String(), o)
		counts := map[string]int64{}
		for _, d := range drops {
			counts[d.Reason]++
		}
		if len(rows) == 0 {
			rows = []formats.Example{}
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Fatalf("seed %d: rows %s", seed, diff)
		}
		if diff := cmp.Diff(drops[:min(len(drops), 100)], report.Drops); diff != "" {
			t.Fatalf("seed %d: drops %s", seed, diff)
		}
		if diff := cmp.Diff(counts, report.Counts); diff != "" {
			t.Fatalf("seed %d: counts %s", seed, diff)
		}
	}
}

// A text that is read bit by bit is what it is at once, or refused as it is.
func TestTextIsStandardHoweverItIsRead(t *testing.T) {
	words := []string{"NaN", "-Infinity", "Infinity", "-", "N", "Inf", `"`, `\`, `\"`, "é", "\ufffd", "漢", "1", ",", "\n", "\xff", "\xe6\xbc"}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 4))
		var b strings.Builder
		last := len(words)
		if seed%4 > 0 {
			last -= 2 // valid
		}
		for range r.IntN(3000) {
			b.WriteString(words[r.IntN(last)])
		}
		in, err := source{"x", strings.NewReader(b.String()), int64(b.Len())}.text()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		switch bad := checkUTF8([]byte(b.String())); {
		case bad != nil && !errors.Is(err, errNotUTF8):
			t.Fatalf("seed %d: bytes that are not UTF-8: %v", seed, err)
		case bad == nil && (err != nil || !bytes.Equal(got, standard([]byte(b.String())))):
			t.Fatalf("seed %d: %v\n%q\n%q", seed, err, got, b.String())
		}
	}
}

func TestARecordWithoutEndIsRefusedBeforeItFillsTheMemory(t *testing.T) {
	_, _, err := Read("x.json", io.NewSectionReader(opened{endless{}}, 0, 1<<40), 1<<40, Options{})
	if !errors.Is(err, formats.ErrInvalid) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v", err)
	}
}

// opened begins with an array of one text.
type opened struct{ io.ReaderAt }

func (o opened) ReadAt(p []byte, off int64) (int, error) {
	n, err := o.ReaderAt.ReadAt(p, off)
	for i := off; i < 2 && i-off < int64(n); i++ {
		p[i-off] = `["`[i]
	}
	return n, err
}

// The line of a mistake is told, however far down it is.
func TestTheLineOfAMistakeInAnArray(t *testing.T) {
	text := "\n[" + strings.Repeat("{\"id\": \"some id\"} ,\n", 5000) + "{\"id\": 1,\n\"question\": oh}]"
	_, _, err := read(t, "x.json", text, Options{})
	bad := (*formats.InputError)(nil)
	if !errors.As(err, &bad) || bad.Row != 5000 || !strings.Contains(err.Error(), "line 5003") {
		t.Errorf("got %v", err)
	}
}

func TestTable(t *testing.T) {
	const n = 10_000
	ids := make([]string, n)
	places := newTable(n)
	for i := range ids {
		ids[i] = fmt.Sprint("id-", i)
		places.put(ids[i], int64(i))
	}
	asked := 0
	for i, id := range ids {
		got, ok, err := places.find(id, func(k int64) (bool, error) { asked++; return ids[k] == id, nil })
		if got != int64(i) || !ok || err != nil {
			t.Errorf("%s is found at %d (%v, %v)", id, got, ok, err)
		}
		if _, ok, _ := places.find("no "+id, func(k int64) (bool, error) { asked++; return ids[k] == "no "+id, nil }); ok {
			t.Errorf("%s is found without being there", "no "+id)
		}
	}
	if asked > n+10 {
		t.Errorf("asked %d times about %d", asked, n)
	}
	if _, ok, err := newTable(0).find("x", nil); ok || err != nil {
		t.Errorf("found in an empty table: %v, %v", ok, err)
	}
	broken := errors.New("broken")
	if _, _, err := places.find(ids[7], func(int64) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestSetOf(t *testing.T) {
	want := []formats.Example{{ID: "b", Question: "B?", Row: 4, Fields: []byte(`{}`)}, {ID: "a", Answer: "A", GeneratedAnswer: "G", Fields: []byte(`{"x":1}`)}}
	set, err := Of(want...)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := set.Find("c"); ok || err != nil {
		t.Errorf("found what is not there: %v", err)
	}
	for _, i := range []int{-1, 2} {
		if _, err := set.At(i); err == nil {
			t.Errorf("there is an example %d", i)
		}
	}
	if diff := cmp.Diff(want, list(t, set)); diff != "" {
		t.Error(diff)
	}
	for _, bad := range [][]formats.Example{{{ID: "a"}, {ID: "a"}}, {{Question: "q"}}} {
		if _, err := Of(bad...); !errors.Is(err, formats.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// Nothing is left of a set, and none of its file is found while it is there.
func TestNothingIsLeftBehind(t *testing.T) {
	spooling(t, 10)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	set, err := Of(formats.Example{ID: "a", Question: strings.Repeat("long ", 100)}, formats.Example{ID: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if set.rows.f == nil {
		t.Error("everything is in memory")
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "nowhere"))
	_, err = Of(formats.Example{ID: "a", Question: strings.Repeat("long ", 100)}, formats.Example{ID: "b"})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "examples") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestASetIsReadByMany(t *testing.T) {
	spooling(t, 1000)
	var all []formats.Example
	for i := range 500 {
		all = append(all, formats.Example{ID: fmt.Sprint("ex-", i), Question: strings.Repeat(fmt.Sprint(i), 10), Row: i})
	}
	set, err := Of(all...)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var readers sync.WaitGroup
	for w := range 8 {
		readers.Go(func() {
			for i := range all {
				i = (i*7 + w*31) % len(all)
				e, err := set.At(i)
				at, ok, err2 := set.Find(all[i].ID)
				if errors.Join(err, err2) != nil || !ok || at != i || e.Question != all[i].Question {
					t.Errorf("example %d: %+v at %d, %v, %v", i, e, at, err, err2)
				}
			}
		})
	}
	readers.Wait()
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// weighed is a file during whose last part the heap is weighed.
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

// live is how many bytes of the heap reading a file keeps alive, near its end
// and afterwards.
func live(t *testing.T, name, text string) (during, after int64) {
	t.Helper()
	file := &weighed{ReaderAt: strings.NewReader(text), from: int64(len(text)) * 9 / 10}
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
	return file.heap - before, after - before
}

// What an example costs in memory once it is read is what finds its id, and
// none of its text, whatever the format and whether it was kept; before that
// it is nothing, except in a column map.
func TestMemoryOfASetDoesNotGrowWithItsText(t *testing.T) {
	spooling(t, 64<<10)
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
		const n = 2000
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
