package arrow

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/rollmill/rollmill/formats"
)

// Asked is a trajectory as a reward program is asked about it. Of its columns
// these go over the wire, messages as chat completions name their fields:
//
//	id, example, answer, status, stop_reason: string   (example is JSON)
//	seed: int64
//	rewards: map<string, double>
//	messages: list<struct<role, content, content_parts, name, reasoning_content, tool_call_id: string,
//	                      tool_calls: list<struct<id, name, arguments: string>>, sampled: bool>>
type Asked struct {
	*formats.Trajectory
	Path    []int                 // of messages, the ones to send
	Rewards []formats.NamedReward // computed before
	Seed    int64
}

var (
	text     = arrow.BinaryTypes.String
	toolCall = arrow.StructOf(plain("id", text), plain("name", text), plain("arguments", text))
	message  = arrow.StructOf(plain("role", text), plain("content", text), nullable("content_parts", text), nullable("name", text),
		nullable("reasoning_content", text), nullable("tool_call_id", text), plain("tool_calls", arrow.ListOf(toolCall)),
		plain("sampled", arrow.FixedWidthTypes.Boolean))
	asked = arrow.NewSchema([]arrow.Field{plain("id", text), plain("example", text), plain("answer", text), plain("status", text),
		plain("stop_reason", text), plain("seed", arrow.PrimitiveTypes.Int64),
		plain("rewards", arrow.MapOf(text, arrow.PrimitiveTypes.Float64)), plain("messages", arrow.ListOf(message))}, nil)
)

func plain(name string, t arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: t} }
func nullable(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// AskWriter writes questions as a stream of record batches (Arrow IPC, the
// streaming format). It is for one goroutine.
type AskWriter struct {
	out *bufio.Writer
	w   *ipc.Writer
	b   *array.RecordBuilder
}

// NewAskWriter writes nothing yet.
func NewAskWriter(w io.Writer) *AskWriter {
	out := bufio.NewWriterSize(w, 64<<10)
	return &AskWriter{out: out, w: ipc.NewWriter(out, ipc.WithSchema(asked)), b: array.NewRecordBuilder(newRecycler(), asked)}
}

// batchText is the size of texts at which a batch is sent: far below the 2 GiB
// that its offsets can reach, small enough for the program to be at work on one
// while the next is made, large enough for either not to notice the borders.
const batchText = 1 << 20

// Write writes rows as one batch, or as several when they are large, and
// leaves nothing in a buffer.
func (a *AskWriter) Write(rows []Asked) error {
	for len(rows) > 0 {
		n, size := 0, 0
		for n < len(rows) && (n == 0 || size < batchText) {
			size += rows[n].size()
			n++
		}
		if err := a.write(rows[:n]); err != nil {
			return fmt.Errorf("writing a record batch: %w", err)
		}
		if rows = rows[n:]; a.out.Buffered() > 0 {
			if err := a.out.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *AskWriter) write(rows []Asked) error {
	a.reserve(rows)
	for i := range rows {
		a.append(&rows[i])
	}
	batch := a.b.NewRecordBatch()
	defer batch.Release()
	return a.w.Write(batch)
}

// reserve makes room for all texts at once: growing by doubling would cost as
// much as all the rest.
func (a *AskWriter) reserve(rows []Asked) {
	examples, answers, contents, messages := 0, 0, 0, 0
	for i := range rows {
		r := &rows[i]
		examples += len(r.Example)
		answers += len(r.Answer)
		messages += len(r.Path)
		for _, m := range r.Path {
			contents += len(r.Messages[m].Content)
		}
	}
	a.b.Reserve(len(rows))
	a.b.Field(1).(*array.StringBuilder).ReserveData(examples)
	a.b.Field(2).(*array.StringBuilder).ReserveData(answers)
	list := a.b.Field(7).(*array.ListBuilder).ValueBuilder().(*array.StructBuilder)
	list.Reserve(messages)
	list.FieldBuilder(1).(*array.StringBuilder).ReserveData(contents)
}

func (r *Asked) size() int {
	n := len(r.Example) + len(r.Answer)
	for _, i := range r.Path {
		n += len(r.Messages[i].Content) + len(r.Messages[i].ContentParts) + len(r.Messages[i].Reasoning)
	}
	return n
}

func (a *AskWriter) append(r *Asked) {
	for i, s := range []string{r.TrajectoryID, r.Example, r.Answer, r.Status, r.StopReason} {
		appendString(a.b.Field(i), s)
	}
	a.b.Field(5).(*array.Int64Builder).Append(r.Seed)
	rewards := a.b.Field(6).(*array.MapBuilder)
	rewards.Append(true)
	for _, n := range r.Rewards {
		appendString(rewards.KeyBuilder(), n.Name)
		if v := rewards.ItemBuilder().(*array.Float64Builder); n.Value != nil {
			v.Append(*n.Value)
		} else {
			v.AppendNull()
		}
	}
	list := a.b.Field(7).(*array.ListBuilder)
	list.Append(true)
	for _, i := range r.Path {
		appendMessage(list.ValueBuilder().(*array.StructBuilder), &r.Messages[i])
	}
}

func appendMessage(b *array.StructBuilder, m *formats.Message) {
	b.Append(true)
	appendString(b.FieldBuilder(0), m.Role)
	appendString(b.FieldBuilder(1), m.Content)
	for i, s := range []string{m.ContentParts, m.Name, m.Reasoning, m.ToolCallID} {
		if f := b.FieldBuilder(2 + i); s == "" {
			f.AppendNull()
		} else {
			appendString(f, s)
		}
	}
	calls := b.FieldBuilder(6).(*array.ListBuilder)
	calls.Append(true)
	for _, c := range m.ToolCalls {
		call := calls.ValueBuilder().(*array.StructBuilder)
		call.Append(true)
		for i, s := range []string{c.ID, c.Name, c.Arguments} {
			appendString(call.FieldBuilder(i), s)
		}
	}
	b.FieldBuilder(7).(*array.BooleanBuilder).Append(m.Sampled)
}

// appendString appends text as the reader's language will take it: bytes that
// are not UTF-8 would make its decoder fail far from here.
func appendString(b array.Builder, s string) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	b.(*array.StringBuilder).Append(s)
}
