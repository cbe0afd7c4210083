package otel

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

const made = "../../../testdata/importers/otel/"

// files are by opentelemetry-sdk 1.45.2 and its instrumentation of OpenAI, or by
// openinference-instrumentation-openai; the
// others are written to the conventions and to the schemas of Langfuse and Phoenix.
var files = []string{made + "genai.otlp.jsonl", made + "genai.console.json", made + "genai.protobuf.json", made +
	"genai-events.otlp.jsonl", made + "genai-events.logs.otlp.jsonl",
	made + "openinference.otlp.jsonl", made + "langfuse-observations-by-schema.jsonl", made +
		"phoenix-spans-by-schema.jsonl",
	"testdata/conventions.jsonl", "testdata/langfuse-trace.json", "testdata/phoenix-frame.jsonl"}

func TestRun(t *testing.T) { foreigntest.Importer(t, Importer, importers.Options{}, files...) }

func FuzzTraces(f *testing.F) {
	seeds := foreigntest.Seeds(f, 20000, "testdata/langfuse-trace.json", "testdata/phoenix-frame.jsonl")
	conventions, err := os.ReadFile("testdata/conventions.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	foreigntest.Fuzz(f, Importer, importers.Options{}, "f.jsonl",
		append(seeds, bytes.Split(conventions, []byte("\n"))...)...)
}

// TestOrder: a trace is the same whatever the order of its parts.
func TestOrder(t *testing.T) {
	for _, path := range []string{"testdata/conventions.jsonl", made + "genai.otlp.jsonl"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
		rows := func() []string {
			text := foreigntest.Rows(Importer, importers.Options{}, "f.jsonl", bytes.Join(lines, []byte("\n")))
			out := regexp.MustCompile(`"(?:Metadata|StartedAt)".*`).ReplaceAllString(text, "")
			out = regexp.MustCompile(`line \d+`).ReplaceAllString(out, "")
			list := strings.Split(out, "\n")
			slices.Sort(list)
			return list
		}
		want := rows()
		slices.Reverse(lines)
		if diff := cmp.Diff(want, rows()); diff != "" {
			t.Errorf("%s reversed: %s", path, diff)
		}
	}
}

func TestExampleID(t *testing.T) {
	rows := func(attribute string) string {
		data, err := os.ReadFile("testdata/conventions.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		return foreigntest.Rows(Importer, importers.Options{Map: map[string]string{exampleID: attribute}}, "f.jsonl", data)
	}
	if n := strings.Count(rows("task"), `"ExampleID":"task-9"`); n != 5 {
		t.Errorf("the attribute of the resource names %d examples", n)
	}
	if n := strings.Count(rows("gen_ai.conversation.id"), `"ExampleID":"conv"`); n != 1 {
		t.Errorf("the attribute of a span names %d examples", n)
	}
}

func TestBounds(t *testing.T) {
	for name, x := range map[string]struct{ data, want string }{
		"lists in lists": {strings.Repeat(`{"data":[`, 20) + strings.Repeat("]}", 20), "nested more than 10 deep"},
		"values in values": {`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"a","attributes":[{"key":"gen_ai.request.model","value":` +
			strings.Repeat(`{"arrayValue":{"values":[`, 300) + strings.Repeat("]}}", 300) + `}]}]}]}]}`, "nested more than 200 deep"},
		"a span of no trace": {`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"x"}]}]}]}`, "a span has no traceId"},
		"another file":       {`{"messages":[]}`, "neither a span, nor a log record, nor a score"},
		"cut short":          {"{\"resourceSpans\":[]}\n{\"resourceSpans\":[", "line 2: it is not JSON, or was cut short"},
		"old log records":    {`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"a","spanId":"b","eventName":"gen_ai.choice","body":{"kvlistValue":{"values":[{"key":"message","value":{"kvlistValue":{"values":[{"key":"content","value":{"stringValue":"yes"}}]}}}]}}}]}]}]}`, `"Answer":"yes"`},
		"its own parent":     {`{"context":{"trace_id":"a","span_id":"b"},"parent_id":"b","name":"x","attributes":{"gen_ai.operation.name":"chat","gen_ai.output.messages":"yes"}}`, `"Answer":"yes"`},
	} {
		if rows := foreigntest.Rows(Importer, importers.Options{}, "f.json", []byte(x.data)); !strings.Contains(rows,
			x.want) {
			t.Errorf("%s: %s", name, rows)
		}
	}
}

func TestIDs(t *testing.T) {
	for in, want := range map[string]string{
		`"0x290686E2F47E3f91b0606ec8a3df72f3"`: "290686e2f47e3f91b0606ec8a3df72f3",
		`"KQaG4vR+P5GwYG7Io99y8w=="`:           "290686e2f47e3f91b0606ec8a3df72f3", `"run-1"`: "run-1", `null`: "",
	} {
		if got := traceID([]byte(in)); got != want {
			t.Errorf("%s is %s, not %s", in, got, want)
		}
	}
}

// TestUsageIsKept: what no column holds of a call's usage is kept by name.
func TestUsageIsKept(t *testing.T) {
	attrs := jsontext.ParseObject([]byte(`{"gen_ai.usage.input_tokens":9,"gen_ai.usage.cache_read.input_tokens":4,"gen_ai.usage.cache_creation.input_tokens":3,` +
		`"gen_ai.usage.reasoning.output_tokens":2,"llm.token_count.prompt":9,"llm.token_count.prompt_details.cache_read":4,"llm.token_count.prompt_details.cache_write":3}`))
	var got []string
	for _, f := range unread(attrs) {
		got = append(got, f.Key)
	}
	want := "gen_ai.usage.cache_creation.input_tokens gen_ai.usage.reasoning.output_tokens llm.token_count.prompt_details.cache_write"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("%s, want %s", text, want)
	}
}
