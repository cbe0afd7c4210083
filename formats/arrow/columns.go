package arrow

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rollmill/rollmill/formats"
)

// The columns of a batch in Arrow's memory layout, which are filled and cleared
// again and again. arrow-go's builders take a third more of a batch's time:
// they clear memory that they then overwrite, and look up each column for each
// value.

// texts is a column of strings.
type texts struct {
	data    []byte
	offsets []int32 // one more than there are values
	valid   bitmap  // empty for a column without nulls
}

// maxKept is how much memory a column keeps for the next batch.
const maxKept = 4 * batchText

func (t *texts) empty() {
	if cap(t.data) > maxKept {
		t.data = nil
	}
	t.data, t.offsets, t.valid = t.data[:0], append(t.offsets[:0], 0), t.valid[:0]
}

// add appends text. Bytes that are not valid UTF-8 become U+FFFD, because a
// program's decoder would fail on them with an error that does not point here.
func (t *texts) add(s string) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	t.data = append(t.data, s...)
	t.offsets = append(t.offsets, int32(len(t.data)))
}

func (t *texts) column() *array.Data {
	n := len(t.offsets) - 1
	return array.NewData(text, n, []*memory.Buffer{t.valid.buffer(), bufferOf(t.offsets), memory.NewBufferBytes(t.data)}, nil,
		t.valid.nulls(), 0)
}

// bitmap has one bit for each value, the first in the lowest bit.
type bitmap []byte

func (b bitmap) set(i int, on bool) bitmap {
	if i%8 == 0 {
		b = append(b, 0)
	}
	if on {
		b[i/8] |= 1 << (i % 8)
	}
	return b
}

func (b bitmap) buffer() *memory.Buffer {
	if len(b) == 0 {
		return nil
	}
	return memory.NewBufferBytes(b)
}

// nulls returns the null count for arrow-go: "count them" where there may be nulls, else 0.
func (b bitmap) nulls() int {
	if len(b) == 0 {
		return 0
	}
	return array.UnknownNullCount
}

// bufferOf returns a slice's memory as an Arrow buffer.
func bufferOf[T int32 | int64 | float64](s []T) *memory.Buffer {
	if len(s) == 0 {
		return memory.NewBufferBytes(nil)
	}
	return memory.NewBufferBytes(arrow.GetBytes(s))
}

// columns is one batch of requests.
type columns struct {
	rows  int
	heads [5]texts // id, example, answer, status, stop_reason
	seeds []int64
	tails [3]texts   // metadata, model, example_id
	whole [5][]int32 // epoch, generation, prompt_tokens, completion_tokens, sampled_tokens

	toolSets struct {
		ends  []int32
		texts texts
	}
	rewards struct {
		ends   []int32
		names  texts
		values []float64
		valid  bitmap
	}
	artifacts struct {
		ends  []int32
		texts [2]texts // name, content
	}
	messages struct {
		ends    []int32
		texts   [6]texts // role, content, content_parts, name, reasoning_content, tool_call_id
		sampled bitmap
		n       int
	}
	calls struct {
		ends  []int32
		texts [3]texts // id, name, arguments
	}
}

func (c *columns) empty() {
	c.rows, c.seeds, c.messages.n = 0, c.seeds[:0], 0
	c.rewards.ends, c.rewards.values, c.rewards.valid = append(c.rewards.ends[:0],
		0), c.rewards.values[:0], c.rewards.valid[:0]
	c.messages.ends, c.messages.sampled = append(c.messages.ends[:0], 0), c.messages.sampled[:0]
	c.calls.ends = append(c.calls.ends[:0], 0)
	c.toolSets.ends = append(c.toolSets.ends[:0], 0)
	c.artifacts.ends = append(c.artifacts.ends[:0], 0)
	c.rewards.names.empty()
	c.toolSets.texts.empty()
	for i := range c.whole {
		c.whole[i] = c.whole[i][:0]
	}
	for _, set := range [][]texts{c.heads[:], c.tails[:], c.messages.texts[:], c.calls.texts[:], c.artifacts.texts[:]} {
		for i := range set {
			set[i].empty()
		}
	}
}

func (c *columns) add(r *Request) {
	c.rows++
	for i, s := range [...]string{r.TrajectoryID, r.Example, r.Answer, r.Status, r.StopReason} {
		c.heads[i].add(s)
	}
	c.seeds = append(c.seeds, r.Seed)
	for i, s := range [...]string{cmp.Or(r.Metadata, "{}"), r.Model, r.ExampleID} {
		c.tails[i].add(s)
	}
	for i, n := range [...]int32{r.Epoch, r.Generation, r.PromptTokens, r.CompletionTokens, r.SampledTokens} {
		c.whole[i] = append(c.whole[i], n)
	}
	for _, set := range r.ToolSets {
		c.toolSets.texts.add(set)
	}
	c.toolSets.ends = append(c.toolSets.ends, int32(len(c.toolSets.texts.offsets)-1))
	for _, a := range r.Artifacts {
		c.artifacts.texts[0].add(a.Name)
		c.artifacts.texts[1].add(a.Content)
	}
	c.artifacts.ends = append(c.artifacts.ends, int32(len(c.artifacts.texts[0].offsets)-1))
	for _, n := range r.Rewards {
		c.rewards.names.add(n.Name)
		c.rewards.valid = c.rewards.valid.set(len(c.rewards.values), n.Value != nil)
		var v float64
		if n.Value != nil {
			v = *n.Value
		}
		c.rewards.values = append(c.rewards.values, v)
	}
	c.rewards.ends = append(c.rewards.ends, int32(len(c.rewards.values)))
	for _, i := range r.Path {
		c.addMessage(&r.Messages[i])
	}
	c.messages.ends = append(c.messages.ends, int32(c.messages.n))
}

func (c *columns) addMessage(m *formats.Message) {
	t := &c.messages.texts
	t[0].add(m.Role)
	t[1].add(m.Content)
	for i, s := range [...]string{m.ContentParts, m.Name, m.Reasoning, m.ToolCallID} {
		t[2+i].valid = t[2+i].valid.set(len(t[2+i].offsets)-1, s != "") // an empty string is null
		t[2+i].add(s)
	}
	for _, call := range m.ToolCalls {
		for i, s := range [...]string{call.ID, call.Name, call.Arguments} {
			c.calls.texts[i].add(s)
		}
	}
	c.calls.ends = append(c.calls.ends, int32(len(c.calls.texts[0].offsets)-1))
	c.messages.sampled = c.messages.sampled.set(c.messages.n, m.Sampled)
	c.messages.n++
}

// batch returns the columns as an arrow-go record batch. It is valid until the columns are cleared.
func (c *columns) batch() arrow.RecordBatch {
	var out []arrow.Array
	for i := range c.heads {
		out = append(out, array.MakeFromData(c.heads[i].column()))
	}
	out = append(out, array.MakeFromData(array.NewData(arrow.PrimitiveTypes.Int64, c.rows,
		[]*memory.Buffer{nil, bufferOf(c.seeds)}, nil, 0, 0)))
	out = append(out, array.MakeFromData(c.rewardColumn()), array.MakeFromData(c.messageColumn()))
	for i := range c.tails {
		out = append(out, array.MakeFromData(c.tails[i].column()))
	}
	sets := array.NewData(arrow.ListOf(text), c.rows, []*memory.Buffer{nil, bufferOf(c.toolSets.ends)},
		[]arrow.ArrayData{c.toolSets.texts.column()}, 0, 0)
	out = append(out, array.MakeFromData(sets))
	for i := range c.whole {
		out = append(out, array.MakeFromData(array.NewData(int32s, c.rows, []*memory.Buffer{nil, bufferOf(c.whole[i])},
			nil, 0, 0)))
	}
	names := &c.artifacts.texts[0]
	out = append(out, array.MakeFromData(c.pairs(requestSchema.Field(len(out)).Type, c.artifacts.ends, names,
		c.artifacts.texts[1].column())))
	return array.NewRecordBatch(requestSchema, out, int64(c.rows))
}

func (c *columns) rewardColumn() *array.Data {
	r := &c.rewards
	n := len(r.values)
	values := array.NewData(arrow.PrimitiveTypes.Float64, n, []*memory.Buffer{r.valid.buffer(), bufferOf(r.values)}, nil,
		r.valid.nulls(), 0)
	return c.pairs(requestSchema.Field(6).Type, r.ends, &r.names, values)
}

// pairs is a column of maps of a type, whose pairs end at ends.
func (c *columns) pairs(t arrow.DataType, ends []int32, names *texts, values *array.Data) *array.Data {
	kind := t.(*arrow.MapType)
	pairs := array.NewData(kind.Elem(), values.Len(), []*memory.Buffer{nil}, []arrow.ArrayData{names.column(), values}, 0, 0)
	return array.NewData(kind, c.rows, []*memory.Buffer{nil, bufferOf(ends)}, []arrow.ArrayData{pairs}, 0, 0)
}

func (c *columns) messageColumn() *array.Data {
	m := &c.messages
	var fields, parts []arrow.ArrayData
	for i := range m.texts {
		fields = append(fields, m.texts[i].column())
	}
	for i := range c.calls.texts {
		parts = append(parts, c.calls.texts[i].column())
	}
	each := array.NewData(toolCall, parts[0].Len(), []*memory.Buffer{nil}, parts, 0, 0)
	calls := array.NewData(arrow.ListOf(toolCall), m.n, []*memory.Buffer{nil, bufferOf(c.calls.ends)},
		[]arrow.ArrayData{each}, 0, 0)
	sampled := array.NewData(arrow.FixedWidthTypes.Boolean, m.n,
		[]*memory.Buffer{nil, memory.NewBufferBytes(m.sampled)}, nil, 0, 0)
	whole := array.NewData(message, m.n, []*memory.Buffer{nil}, append(fields, calls, sampled), 0, 0)
	return array.NewData(arrow.ListOf(message), c.rows, []*memory.Buffer{nil, bufferOf(m.ends)},
		[]arrow.ArrayData{whole}, 0, 0)
}
