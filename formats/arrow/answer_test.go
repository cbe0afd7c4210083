package arrow

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/arrow/arrowtest"
)

// stream writes n batches of one row.
func stream(t testing.TB, n int, fields []arrow.Field, fill func(*array.RecordBuilder)) []byte {
	t.Helper()
	schema := arrow.NewSchema(fields, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for range n {
		fill(b)
		if err := w.Write(b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func wellFormedAnswers(t testing.TB, n int) []byte {
	return stream(t, n, []arrow.Field{{Name: "note", Type: arrow.PrimitiveTypes.Date32}, {Name: "reward", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "id", Type: arrow.BinaryTypes.LargeString}, {Name: "shaped_rewards", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		{Name: "error", Type: arrow.BinaryTypes.String, Nullable: true}}, func(b *array.RecordBuilder) {
		b.Field(0).(*array.Date32Builder).AppendValues([]arrow.Date32{1, 2}, nil)
		b.Field(1).(*array.Float32Builder).Append(0.5)
		b.Field(1).AppendNull()
		b.Field(2).(*array.LargeStringBuilder).AppendValues([]string{"a", "b"}, nil)
		list := b.Field(3).(*array.ListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{1, 2}, []bool{true, false})
		list.AppendNull()
		b.Field(4).AppendNull()
		b.Field(4).(*array.StringBuilder).Append(strings.Repeat("why ", 1000))
	})
}

// Answers may have any number type and further columns; a stream of any length
// is read in bounded memory.
func TestAnswersAreRead(t *testing.T) {
	r := NewAnswerReader(bytes.NewReader(wellFormedAnswers(t, 2000)))
	half := 0.5
	for range 2000 {
		got, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		want := []Answer{{ID: "a", Reward: &half, Shaped: []float64{1, math.NaN()}}, {ID: "b", Error: strings.Repeat("why ", 1000)}}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	}
	if _, err := r.Read(); err != io.EOF {
		t.Errorf("after the last batch: %v", err)
	}
}

// A stream that is cut ends well only between two messages.
func TestCutAnswersAreErrors(t *testing.T) {
	const batches = 2
	whole, ends := wellFormedAnswers(t, batches), 0
	for cut := range len(whole) {
		r := NewAnswerReader(bytes.NewReader(whole[:cut]))
		var err error
		for err == nil {
			_, err = r.Read()
		}
		if err == io.EOF {
			ends++
		}
	}
	if ends > 1+1+batches { // before the schema, and after it and each batch
		t.Errorf("%d of %d cut streams end well", ends, len(whole))
	}
}

func TestInvalidAnswersAreErrors(t *testing.T) {
	id := arrow.Field{Name: "id", Type: arrow.BinaryTypes.String, Nullable: true}
	reward := arrow.Field{Name: "reward", Type: arrow.PrimitiveTypes.Float64, Nullable: true}
	for want, fields := range map[string][]arrow.Field{
		"has no id":                    {id, reward},
		"needs the columns":            {reward},
		"two columns are named reward": {id, reward, reward},
	} {
		file := stream(t, 1, fields, func(b *array.RecordBuilder) {
			for i := range fields {
				b.Field(i).AppendNull()
			}
		})
		if _, err := NewAnswerReader(bytes.NewReader(file)).Read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", fields, err)
		}
	}
}

// Requests are the same after they were written and read.
func TestRequestsAreWritten(t *testing.T) {
	half := 0.5
	row := Request{Trajectory: &formats.Trajectory{TrajectoryID: "t", Example: `{"n":1}`, Answer: "a\xffb", Status: "ok", StopReason: "done",
		Metadata: `{"level":3}`, Model: "m", ExampleID: "e", ToolSets: []string{`[]`, `[{"type":"function"}]`}, Epoch: 5, Generation: 2, PromptTokens: 10,
		CompletionTokens: 7, SampledTokens: 6, Artifacts: []formats.Artifact{{Name: "/a", Content: "one"}, {Name: "/b"}},
		Messages: []formats.Message{{Role: "user", Content: "not on the path"},
			{Role: "assistant", Content: "hello", Sampled: true, ToolCalls: []formats.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}}}},
		Path: []int{1}, Rewards: []formats.NamedReward{{Name: "x", Value: &half}, {Name: "y"}}, Seed: 7}
	large := row
	large.Trajectory = &formats.Trajectory{TrajectoryID: "large", Answer: strings.Repeat("x", batchText)}
	large.Path = nil
	var out bytes.Buffer
	if err := NewRequestWriter(&out).Write([]Request{row, large, row}); err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int64
	for r.Next() {
		sizes = append(sizes, r.RecordBatch().NumRows())
		if len(sizes) > 1 {
			continue
		}
		var got []byte
		for c, f := range r.RecordBatch().Schema().Fields() {
			if got, err = arrowtest.AppendValue(append(got, f.Name+"="...), r.RecordBatch().Column(c), 0); err != nil {
				t.Fatal(err)
			}
			got = append(got, ' ')
		}
		want := `id="t" example="{\"n\":1}" answer="a�b" status="ok" stop_reason="done" seed=7 rewards={"x":0.5,"y":null} ` +
			`messages=[{"role":"assistant","content":"hello","content_parts":null,"name":null,"reasoning_content":null,"tool_call_id":null,"tool_calls":[{"id":"1","name":"f","arguments":"{}"}],"sampled":true}] ` +
			`metadata="{\"level\":3}" model="m" example_id="e" tool_sets=["[]","[{\"type\":\"function\"}]"] epoch=5 generation=2 prompt_tokens=10 completion_tokens=7 sampled_tokens=6 artifacts={"/a":"one","/b":""} `
		if string(got) != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if !slices.Equal(sizes, []int64{2, 1}) {
		t.Errorf("batches of %v rows", sizes)
	}
}

// FuzzAnswers: whatever a program writes, reading it gives answers or an error.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("I think it is good."))
	f.Add(wellFormedAnswers(f, 2))
	f.Add(wellFormedAnswers(f, 1)[:100])
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewAnswerReader(bytes.NewReader(data))
		for range 100 {
			if _, err := r.Read(); err != nil {
				return
			}
		}
	})
}

// Whichever byte is wrong, reading gives answers or an error and does not
// panic.
func TestAnyWrongByteEndsInAnswersOrAnError(t *testing.T) {
	good := wellFormedAnswers(t, 2)
	for at := range good {
		for _, flip := range []byte{0x55, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[at] ^= flip
			r := NewAnswerReader(bytes.NewReader(bad))
			for range 4 {
				if _, err := r.Read(); err != nil {
					break
				}
			}
		}
	}
}
