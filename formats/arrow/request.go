package arrow

import (
	"bufio"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/rollmill/rollmill/formats"
)

// Request is a trajectory as a reward program receives it. These columns are
// sent, with messages named as in chat completions:
//
//	id, example, answer, status, stop_reason: string   (example is JSON)
//	seed: int64
//	rewards: map<string, double>
//	messages: list<struct<role, content, content_parts, name, reasoning_content, tool_call_id: string,
//	                      tool_calls: list<struct<id, name, arguments: string>>, sampled: bool>>
//	metadata: string                                   (JSON, {} without any)
//	model, example_id: string
//	tool_sets: list<string>                            (each the JSON array of tools that a call offered)
//	epoch, generation, prompt_tokens, completion_tokens, sampled_tokens: int32
//	artifacts: map<string, string>                     (files that the attempt left: texts by path)
//
// New columns are added at the end; find columns by name.
type Request struct {
	*formats.Trajectory
	Path    []int                 // of messages, the ones to send
	Rewards []formats.NamedReward // computed before
	Seed    int64
}

var (
	text     = arrow.BinaryTypes.String
	int32s   = arrow.PrimitiveTypes.Int32
	toolCall = arrow.StructOf(plain("id", text), plain("name", text), plain("arguments", text))
	message  = arrow.StructOf(plain("role", text), plain("content", text), nullable("content_parts", text),
		nullable("name", text),
		nullable("reasoning_content", text), nullable("tool_call_id", text), plain("tool_calls", arrow.ListOf(toolCall)),
		plain("sampled", arrow.FixedWidthTypes.Boolean))
	requestSchema = arrow.NewSchema([]arrow.Field{plain("id", text), plain("example", text), plain("answer", text),
		plain("status", text),
		plain("stop_reason", text), plain("seed", arrow.PrimitiveTypes.Int64),
		plain("rewards", arrow.MapOf(text, arrow.PrimitiveTypes.Float64)), plain("messages", arrow.ListOf(message)),
		plain("metadata", text), plain("model", text), plain("example_id", text), plain("tool_sets", arrow.ListOf(text)),
		plain("epoch", int32s), plain("generation", int32s), plain("prompt_tokens", int32s),
		plain("completion_tokens", int32s), plain("sampled_tokens", int32s), plain("artifacts", arrow.MapOf(text, text))}, nil)
)

func plain(name string, t arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: t} }
func nullable(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// RequestWriter writes requests as a stream of record batches (Arrow IPC streaming
// format). It is for one goroutine.
type RequestWriter struct {
	out  *bufio.Writer
	w    *ipc.Writer
	free chan *columns
}

// NewRequestWriter returns a writer to w. It writes nothing until the first Write.
func NewRequestWriter(w io.Writer) *RequestWriter {
	out := bufio.NewWriterSize(w, 64<<10)
	a := &RequestWriter{out: out, w: ipc.NewWriter(out, ipc.WithSchema(requestSchema)), free: make(chan *columns, 2)}
	a.free <- new(columns)
	a.free <- new(columns)
	return a
}

// batchText is the number of bytes of text at which a batch is sent. It is far
// below the 2 GiB that Arrow's offsets can address, small enough that the
// program works on one batch while the next is built, and large enough that the
// cost of a batch is small.
const batchText = 1 << 20

// Write writes rows as one batch, or as several when they are large, and
// flushes. It builds each batch while the one before it is written.
func (a *RequestWriter) Write(rows []Request) error {
	ready := make(chan *columns, 1)
	go func() {
		defer close(ready)
		for len(rows) > 0 {
			c := <-a.free
			c.empty()
			for size := 0; c.rows == 0 || c.rows < len(rows) && size < batchText; {
				r := &rows[c.rows]
				size += r.size()
				c.add(r)
			}
			rows = rows[c.rows:]
			ready <- c
		}
	}()
	var failed error
	for c := range ready { // to the end: its maker waits
		if failed == nil {
			failed = a.write(c)
		}
		a.free <- c
	}
	return failed
}

func (a *RequestWriter) write(c *columns) error {
	batch := c.batch()
	defer batch.Release()
	if err := a.w.Write(batch); err != nil {
		return fmt.Errorf("writing a record batch: %w", err)
	}
	return a.out.Flush()
}

func (r *Request) size() int {
	n := len(r.Example) + len(r.Answer) + len(r.Metadata)
	for _, set := range r.ToolSets {
		n += len(set)
	}
	for _, i := range r.Path {
		n += len(r.Messages[i].Content) + len(r.Messages[i].ContentParts) + len(r.Messages[i].Reasoning)
	}
	for i := range r.Artifacts {
		n += len(r.Artifacts[i].Content)
	}
	return n
}
