package convert

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
)

// TestMemoryIsBounded counts the bytes in the lists and maps of what sees every
// row of an import: they depend on the memory to sort in, not on the number of
// rows. 40,000 rows here would take over 2 MB.
func TestMemoryIsBounded(t *testing.T) {
	o := ImportDefaults()
	o.Spill.Memory, o.Spill.Dir, o.Files = 32<<10, t.TempDir(), []File{{URI: "a"}}
	c, groups := newCheck(&o), 0
	defer c.close()
	c.meter = o.Meter(stage, "record", 0)
	a := newAdjacent(&o, func(context.Context, []*row, bool, bool) error { groups++; return nil })
	defer a.close()
	for i := range 40_000 {
		item := importers.Item{Row: formats.Trajectory{TrajectoryID: fmt.Sprint("row-", i), ExampleID: fmt.Sprint(i / 4), Answer: fmt.Sprint(i)}}
		p := parsed{Parsed: importers.Parsed{Record: importers.Record{Row: int64(i), Line: i + 1}}, rows: []row{{Item: &item, own: item.Row.TrajectoryID}}}
		if err := c.record(t.Context(), 0, &p, a.add); err != nil {
			t.Fatal(err)
		}
		if i%4000 == 3999 {
			if n := held(reflect.ValueOf([]any{c.source, a.begun})); n < o.Spill.Memory || n > 6*o.Spill.Memory {
				t.Fatalf("%d bytes are held after %d rows, with %d to sort in", n, i+1, o.Spill.Memory)
			}
		}
	}
	if err := a.end(t.Context()); err != nil || groups != 10_000 {
		t.Errorf("%d groups, %v", groups, err)
	}
	if r, err := c.report(); err != nil || r.Checks.Rows != 40_000 || r.Checks.Groups != 10_000 {
		t.Errorf("%+v, %v", r, err)
	}
}

// held counts the bytes of all lists, maps and texts that a value leads to.
func held(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n = held(v.Elem())
		}
	case reflect.String:
		n = int64(v.Len())
	case reflect.Struct:
		for i := range v.NumField() {
			n += held(v.Field(i))
		}
	case reflect.Slice:
		n = int64(v.Cap()) * int64(v.Type().Elem().Size())
		for i := range v.Len() {
			n += held(v.Index(i))
		}
	case reflect.Map:
		n = int64(v.Len()) * int64(v.Type().Key().Size()+v.Type().Elem().Size())
		for x := v.MapRange(); x.Next(); {
			n += held(x.Value())
		}
	}
	return n
}

// TestMergingMemoryIsBounded counts the bytes that a joiner holds while calls are added, and while their
// conversations are read: they depend on the memory to sort in, not on the number of calls, as long as not
// all begin alike. 6,000 calls here take over 3 MB.
func TestMergingMemoryIsBounded(t *testing.T) {
	const memory, conversations = 32 << 10, 1500
	j := calls.NewJoiner(calls.Options{Dir: t.TempDir(), Memory: memory})
	defer j.Close()
	check := func(what string, n int) {
		if n%1000 != 999 {
			return
		}
		if bytes := held(reflect.ValueOf(j)); bytes > 8*memory {
			t.Fatalf("%d bytes are held after %d %s, with %d to sort in", bytes, n+1, what, memory)
		}
	}
	for i := range 4 * conversations {
		of, turn := i%conversations, i/conversations
		var c importers.Conversation
		for k := range turn {
			c.Input(formats.Message{Role: "user", Content: fmt.Sprint("question ", of, k)})
			c.Input(formats.Message{Role: "assistant", Content: fmt.Sprint("answer ", of, k)})
		}
		c.Input(formats.Message{Role: "user", Content: fmt.Sprint("question ", of, turn)})
		c.Sampled(formats.Message{Role: "assistant", Content: fmt.Sprint("answer ", of, turn)}, formats.Call{Target: true, Model: "m"})
		item := importers.Item{Row: formats.Trajectory{TrajectoryID: fmt.Sprint(i), StartedAt: int64(i + 1)}}
		c.Into(&item.Row)
		call, err := calls.New(item, "", validate.Source{})
		if err == nil {
			err = j.Add(call)
		}
		if err != nil {
			t.Fatal(err)
		}
		check("calls", i)
	}
	n := 0
	for c, err := range j.Conversations(t.Context()) {
		if err != nil || len(c.Calls) != 4 {
			t.Fatalf("%d calls, %v", len(c.Calls), err)
		}
		check("conversations", n)
		n++
	}
	if n != conversations {
		t.Errorf("%d conversations", n)
	}
}
