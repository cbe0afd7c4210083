package otel

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	rows "github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/storage/fault"
)

// Kinds of pieces.
const (
	otlpSpan    = "span"
	otlpLog     = "log"
	plainSpan   = "plain"       // of the console exporter and Phoenix
	plainLog    = "plain log"   // of the console exporter
	observation = "observation" // of Langfuse
	scoreRow    = "score"       // of Langfuse and Phoenix
	traceRow    = "trace"       // of Langfuse
)

// piece is a part of a trace.
type piece struct {
	kind     string
	resource []byte // attributes that it shares with others
	raw      []byte
	line     int
}

// index has the pieces of a file by trace.
type index struct {
	traces map[string][]piece
	order  []string          // of the traces
	spans  map[string]string // the trace of each span
	scores []piece           // those that name a span only
	only   bool              // no new traces: the file is a companion
	depth  int               // of lists in others
}

func records(f importers.File, yield func(importers.Record) bool) error {
	x := &index{traces: map[string][]piece{}, spans: map[string]string{}}
	if err := x.file(f); err != nil {
		return err
	}
	for n, id := range x.order {
		pieces := x.traces[id]
		delete(x.traces, id)
		if !yield(importers.Record{Data: join(pieces), Row: int64(n), Line: pieces[0].line, Options: f.Options}) {
			break
		}
	}
	return nil
}

// join writes the pieces of a trace as a list of [kind, resource, raw]. A resource
// that is that of the piece before is null.
func join(pieces []piece) []byte {
	size := 2
	for _, p := range pieces {
		size += len(p.raw) + len(p.kind) + 16
	}
	out := append(make([]byte, 0, size), '[')
	var last []byte
	for i, p := range pieces {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "[%q,", p.kind)
		if same := len(p.resource) > 0 && len(last) > 0 && &p.resource[0] == &last[0]; same || len(p.resource) == 0 {
			out = append(out, "null"...)
		} else {
			out = append(out, p.resource...)
		}
		last = p.resource
		out = append(append(append(out, ','), p.raw...), ']')
	}
	return append(out, ']')
}

// file reads the pieces of a file and of those beside it.
func (x *index) file(f importers.File) error {
	switch rows.Extension(f.Name) {
	case ".parquet", ".csv":
		var held int
		for r, err := range importers.Rows.All(f) {
			if err != nil {
				return err
			}
			if held += len(r.Data); held > importers.MaxDocument {
				return fault.Invalid(f.Name, "split it by trace", nil, "its rows have more than %d MiB",
					importers.MaxDocument>>20)
			}
			data, err := value.Check(r.Data)
			if err == nil {
				err = x.value(data, int(r.Row)+1)
			}
			if err != nil {
				return fault.Invalid(f.Name, "", err, "row %d", r.Row)
			}
		}
	default:
		if err := x.text(f); err != nil {
			return err
		}
	}
	return x.end(f)
}

// text reads the pieces of a text.
func (x *index) text(f importers.File) error {
	data, err := importers.ReadDocument(f)
	if err != nil {
		return err
	}
	if line, err := x.values(data); err != nil {
		return fault.Invalid(f.Name, "", err, "line %d", line)
	}
	return nil
}

// end adds what is in the companions, and the scores of spans.
func (x *index) end(f importers.File) error {
	x.only = true
	base := path.Base(f.Name)
	for _, c := range f.Companions {
		if isLogs(base) || stem(c.Name) != stem(base) {
			continue
		}
		data, err := c.Read()
		if err != nil {
			return fmt.Errorf("reading %q beside %q: %w", c.Name, f.Name, err)
		}
		if err := x.text(importers.File{Name: c.Name, R: bytes.NewReader(data), Size: int64(len(data))}); err != nil {
			return fmt.Errorf("beside %q: %w", f.Name, err)
		}
	}
	x.only = false
	for _, p := range x.scores { // those of spans that are elsewhere are a trace of no id
		o := jsontext.ParseObject(p.raw)
		x.add(x.spans[spanID(o.First("span_id", "spanId"))], p)
	}
	return nil
}

// values reads JSON values, one after the other: lines, a document, or objects
// that were printed over several lines. It returns the line of an error.
func (x *index) values(data []byte) (line int, err error) {
	line = 1
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for {
		i := jsontext.Space(data, 0)
		line += bytes.Count(data[:i], []byte{'\n'})
		if data = data[i:]; len(data) == 0 {
			return 0, nil
		}
		end := jsontext.CheckValue(data, 0, 0)
		if end < 0 {
			return line, fmt.Errorf("it is not JSON, or was cut short: %s", importers.Brief(data))
		}
		v, err := value.Check(data[:end])
		if err == nil {
			err = x.value(v, line)
		}
		if err != nil {
			return line, err
		}
		line += bytes.Count(data[:end], []byte{'\n'})
		data = data[end:]
	}
}

// maxLists bounds how deep objects are in lists of others.
const maxLists = 10

func (x *index) value(v []byte, line int) error {
	if x.depth++; x.depth > maxLists {
		return fmt.Errorf("lists are nested more than %d deep", maxLists)
	}
	defer func() { x.depth-- }()
	if v[0] == '[' {
		for e := range jsontext.Elements(v) {
			if e[0] != '{' {
				return fmt.Errorf("a list has %s, not an object", importers.Brief(e))
			}
			if err := x.value(e, line); err != nil {
				return err
			}
		}
		return nil
	}
	o := jsontext.ParseObject(v)
	if o == nil {
		return fmt.Errorf("it is %s, not an object", importers.Brief(v))
	}
	if list := o.First("resourceSpans", "resource_spans"); list != nil {
		return x.otlp(list, otlpSpan, line)
	}
	if list := o.First("resourceLogs", "resource_logs"); list != nil {
		return x.otlp(list, otlpLog, line)
	}
	if list := o.Get("data"); len(list) > 0 && list[0] == '[' { // a page of an interface
		return x.value(list, line)
	}
	if o.First("resourceMetrics", "resource_metrics") != nil {
		return nil
	}
	return x.row(o, v, line)
}

// row adds an object that is one piece, or a trace of Langfuse with its parts.
func (x *index) row(o jsontext.Object, v []byte, line int) error {
	if list := o.Get("observations"); len(list) > 0 && list[0] == '[' {
		return x.langfuse(o, list, line)
	}
	trace, plain := traceID(o.First("trace_id", "traceId")), plainID(o, "trace_id")
	p := piece{raw: v, line: line}
	switch {
	case plain != nil:
		p.kind, trace = plainSpan, traceID(plain)
		x.spans[spanID(plainID(o, "span_id"))] = trace
	case o.Has("result") && o.Has("annotator_kind") || trace != "" && (o.Has("data_type") || o.Has("dataType")) &&
		o.Has("name"):
		p.kind = scoreRow
	case trace != "" && o.Has("type"):
		p.kind = observation
	case trace != "" && (o.Has("body") || o.Has("severity_number") || o.Has("event_name")):
		p.kind = plainLog
	case trace == "" && o.Has("id") && o.Has("timestamp"):
		p.kind, trace = traceRow, traceID(o.Get("id"))
	default:
		return fmt.Errorf("it is neither a span, nor a log record, nor a score: %s", importers.Brief(v))
	}
	if trace == "" && p.kind == scoreRow {
		x.scores = append(x.scores, p)
		return nil
	}
	x.add(trace, p)
	return nil
}

// langfuse adds a trace that was downloaded with its observations and scores.
func (x *index) langfuse(o jsontext.Object, observations []byte, line int) error {
	trace := o
	if o.Has("trace") {
		trace = jsontext.ParseObject(o.Get("trace"))
	}
	id := traceID(trace.Get("id"))
	if id == "" {
		return errors.New("a trace with observations has no id")
	}
	var rest jsontext.Object
	for _, f := range trace {
		if f.Key != "observations" && f.Key != "scores" {
			rest = append(rest, f)
		}
	}
	x.add(id, piece{kind: traceRow, raw: rest.Bytes(), line: line})
	for e := range jsontext.Elements(observations) {
		x.add(id, piece{kind: observation, raw: e, line: line})
	}
	for _, list := range [][]byte{o.Get("scores"), trace.Get("scores")} {
		for e := range jsontext.Elements(list) {
			x.add(id, piece{kind: scoreRow, raw: e, line: line})
		}
		if !o.Has("trace") {
			break
		}
	}
	return nil
}

// otlp adds the spans or log records of an export.
func (x *index) otlp(list []byte, kind string, line int) error {
	groups, items := []string{"scopeSpans", "scope_spans", "instrumentationLibrarySpans"}, []string{"spans"}
	if kind == otlpLog {
		groups, items = []string{"scopeLogs", "scope_logs"}, []string{"logRecords", "log_records"}
	}
	for r := range jsontext.Elements(list) {
		of := jsontext.ParseObject(r)
		resource := jsontext.ParseObject(of.Get("resource")).Get("attributes")
		for s := range jsontext.Elements(of.First(groups...)) {
			for raw := range jsontext.Elements(jsontext.ParseObject(s).First(items...)) {
				o := jsontext.ParseObject(raw)
				trace := traceID(o.First("traceId", "trace_id"))
				if trace == "" && kind == otlpLog {
					continue // a log record of no trace
				}
				if trace == "" {
					return fmt.Errorf("a span has no traceId: %s", importers.Brief(raw))
				}
				if kind == otlpSpan {
					x.spans[spanID(o.First("spanId", "span_id"))] = trace
				}
				x.add(trace, piece{kind: kind, resource: resource, raw: raw, line: line})
			}
		}
	}
	return nil
}

func (x *index) add(trace string, p piece) {
	if _, known := x.traces[trace]; !known {
		if x.only {
			return
		}
		x.order = append(x.order, trace)
	}
	x.traces[trace] = append(x.traces[trace], p)
}
