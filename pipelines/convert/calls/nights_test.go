package calls_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
)

func made(t *testing.T, r request) *calls.Call {
	t.Helper()
	c, err := calls.New(r.item(), r.by, validate.Source{File: "x.jsonl", Line: 7})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A call that waits for a later night is the same then.
func TestCallsInAFile(t *testing.T) {
	tokens := func(x *importers.Item) {
		last := &x.Row.Messages[len(x.Row.Messages)-1]
		last.TokenIDs, last.Logprobs, last.PromptDeltaIDs = []int32{1, 2}, []float32{-1, -2}, []int32{5, 6, 7}
		last.ToolCalls = []formats.ToolCall{{ID: "c1", Name: "f", Arguments: `{"a": 1}`}}
		x.Row.Metadata, x.Row.ExampleID, x.NumberID, x.Attempt = `{"user":"u"}`, "7", true, new(int64(3))
		x.ResponseID = "r"
		x.Row.ToolSets, x.Row.Calls[0].Tools = []string{`[{"type":"function","function":{"name":"f"}}]`}, 0
	}
	var all []*calls.Call
	for _, r := range []request{
		{id: "1", at: 5, by: "s", prompt: "s:be kind|hi", answer: "hello"},
		{id: "2", at: 9, prompt: "s:be kind|hi|a:hello|go on", answer: "one|two", edit: tokens},
		{at: 9, prompt: "hi", answer: "!"},
	} {
		all = append(all, made(t, r))
	}
	data, err := calls.Encode(nil, all)
	if err != nil {
		t.Fatal(err)
	}
	again, err := calls.DecodeFile("pending", data)
	if diff := cmp.Diff(all, again, cmp.AllowUnexported(calls.Call{}), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(formats.Trajectory{}, "PayloadDigest"),
		cmp.Exporter(func(reflect.Type) bool { return true })); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := calls.DecodeFile("pending", data[:len(data)-9]); err == nil {
		t.Error("half a file is read")
	}
}

// An answer is found in the prompt of a later call, whatever clients leave out of their histories.
func TestAnswersOfEarlierNights(t *testing.T) {
	first := made(t, request{id: "1", at: 1, prompt: "s:be kind|hi", answer: "hello|hey"})
	thought := made(t, request{id: "2", at: 2, prompt: "s:be kind|hi|a:hello|and", answer: "<think>hm</think>\nso"})
	later := made(t, request{id: "3", at: 3, prompt: "s:be kind|hi|a:hello|and|a:so|go", answer: "x"})
	other := made(t, request{id: "4", at: 4, prompt: "s:be kind|ho|a:hello|and|a:so|go", answer: "x"})
	from := func(c *calls.Call) (of []calls.Digest) { of, _ = c.Links(); return of }
	shared := func(a, b *calls.Call) (n int) {
		_, to := a.Links()
		for _, d := range from(b) {
			n += strings.Count(fmt.Sprint(to), fmt.Sprint(d))
		}
		return n
	}
	if len(from(later)) != 2 || shared(first, later) != 1 || shared(thought, later) != 1 || shared(first, thought) != 1 {
		t.Errorf("%v", from(later))
	}
	if _, to := first.Links(); len(to) != 2 || to[0] == to[1] || len(from(first)) != 0 {
		t.Errorf("%v, %v", to, from(first))
	}
	if shared(first, other)+shared(thought, other)+shared(later, thought) > 0 {
		t.Error("it begins otherwise")
	}
	one, two := made(t, request{id: "5", by: "s", prompt: "x", answer: "y"}), made(t, request{id: "6", by: "s", prompt: "a", answer: "b"})
	if shared(one, two) != 1 || shared(one, later) != 0 {
		t.Error("calls of one attempt, whatever they say")
	}
}
