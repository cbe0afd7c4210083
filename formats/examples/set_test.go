package examples

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/records"
)

// spooling makes sets keep almost nothing in memory.
func spooling(t *testing.T, memory int) {
	was := spoolMemory
	spoolMemory = memory
	t.Cleanup(func() { spoolMemory = was })
}

func dropped(r Report) (n int64) {
	for _, k := range r.Counts {
		n += k
	}
	return n
}

// list returns the examples of a set, and closes it.
func list(t testing.TB, set *Set) []formats.Example {
	t.Helper()
	rows := make([]formats.Example, set.Len())
	for i := range rows {
		var err error
		if rows[i], err = set.At(i); err != nil {
			t.Fatal(err)
		}
		at, ok, err := set.Find(rows[i].ID)
		if at != i || !ok || err != nil {
			t.Errorf("example %q is found at %d (%v, %v), not at %d", rows[i].ID, at, ok, err, i)
		}
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
	return rows
}

// plain picks examples with all rows in memory.
func plain(t *testing.T, text string, o Options) (rows []formats.Example, drops []Drop) {
	t.Helper()
	filters, err := newFilters("x", o)
	if err != nil {
		t.Fatal(err)
	}
	all, columns, taken := []map[string]json.RawMessage{}, map[string]bool{}, map[string]bool{}
	for object := range strings.Lines(text) {
		values, keys, err := records.Fields(json.RawMessage(object))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			columns[k] = true
		}
		all = append(all, values)
		taken[jsontext.AnyText(values["id"])] = true
	}
	objects := strings.Split(text, "\n")
	seen := map[string]int{}
	for i, values := range all {
		e := formats.Example{ID: jsontext.AnyText(values["id"]), Question: jsontext.AnyText(values["question"]), Row: i, Fields: json.RawMessage(objects[i])}
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
			drops = append(drops, Drop{i, e.ID, DropDuplicate, fmt.Sprintf("row %d is the same", first)})
		case o.RequireQuestion && strings.TrimSpace(e.Question) == "":
			drops = append(drops, Drop{i, e.ID, DropBlank, ""})
		default:
			rows = append(rows, e)
		}
	}
	return rows, drops
}

// In memory or not, the same rows are kept, and the others dropped for the same
// reasons.
func TestSpooledSetEqualsSetInMemory(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		spooling(t, 1+r.IntN(3)*200)
		var text strings.Builder
		text.WriteString(`{"id":"first","question":"?"}` + "\n")
		n, tasks := 1+r.IntN(300), map[string]string{}
		value := func(name string, values ...string) string {
			if v := values[r.IntN(len(values))]; v != "" {
				return fmt.Sprintf(`%q:%s,`, name, v)
			}
			return ""
		}
		for range n {
			k := r.IntN(n)
			id := value("id", "", fmt.Sprintf(`"q%d"`, k), fmt.Sprintf(`"row-%d"`, k), fmt.Sprintf(`"row-%d_"`, k), fmt.Sprint(k), "null")
			task, again := tasks[id]
			if !again || id == "" || strings.Contains(id, "null") {
				task = value("question", `"what?"`, `" "`, "") + value("topic", `"a"`, `"b"`, `"c"`, "") + fmt.Sprintf(`"n":%d`, r.IntN(4))
				tasks[id] = task
			}
			fmt.Fprintf(&text, "{%s%s}\n", id, task)
		}
		o := Options{RequireQuestion: r.IntN(2) == 0}
		for _, f := range []struct {
			to     *map[string][]string
			column string
		}{{&o.Allow, "topic"}, {&o.Deny, "n"}} {
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

// of returns a set of examples with different ids.
func of(list ...formats.Example) (*Set, error) {
	s := &Set{places: newTable(len(list))}
	for _, e := range list {
		r, err := s.rows.add(spooled{Example: e})
		if err == nil {
			_, _, err = s.Find(e.ID)
		}
		if err == nil {
			err = s.keep(e.ID, r.from, 0)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func TestSet(t *testing.T) {
	want := []formats.Example{{ID: "b", Question: "B?", Row: 4, Fields: []byte(`{}`)}, {ID: "a", Answer: "A", GeneratedAnswer: "G", Fields: []byte(`{"x":1}`)}}
	set, err := of(want...)
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
}

// A set leaves no file behind, and its file has no name while it is in use.
func TestNothingIsLeftBehind(t *testing.T) {
	spooling(t, 10)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	set, err := of(formats.Example{ID: "a", Question: strings.Repeat("long ", 100)}, formats.Example{ID: "b"})
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
	_, err = of(formats.Example{ID: "a", Question: strings.Repeat("long ", 100)}, formats.Example{ID: "b"})
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
	set, err := of(all...)
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
