// Package otel reads and writes traces of OpenTelemetry by its semantic
// conventions for generative AI. Exporter and Importer say how.
package otel

import (
	"path"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
)

const exampleID = "example_id"

// Importer reads traces of OpenTelemetry: spans by the semantic conventions
// for generative AI of every version, by OpenInference and by OpenLLMetry, as
// exporters and collectors write them (OTLP as JSON, the console exporter), and
// as Langfuse and Phoenix export them.
//
// A trace is a trajectory. The calls of its models are joined in the order of
// time: a call whose prompt begins with known messages continues them, another one
// begins a branch. The calls of an agent that another agent or a tool called are
// branches of subagents; they come first, so that the main path is the outer
// agent's. If the span of a call contains the span of another call, as that of a
// framework contains that of a client, only the inner one counts.
//
// The spans of a trace may be anywhere in a file, so a file is read as a whole,
// up to importers.MaxDocument. The log records with the content of spans may be
// in the same file, or beside it in a file of the same name with .logs in it,
// such as run.logs.jsonl beside run.jsonl. Scores are those of evaluation
// events, of annotations and of Langfuse, in the same file as the spans.
var Importer = importers.Format{
	Name: "otel",
	Help: "traces of OpenTelemetry: GenAI and OpenInference spans, also as Langfuse and Phoenix export them",
	Spec: "open-telemetry/semantic-conventions-genai; Arize-ai/openinference: spec/; " +
		"open-telemetry/opentelemetry-proto",
	Extensions: []string{".jsonl", ".json", ".ndjson", ".parquet"},
	Skip:       func(name string) bool { return isLogs(path.Base(name)) },
	Companions: "*.logs.*",
	Log:        true,
	Fields:     []importers.Field{{Name: exampleID, Help: "attribute of a span or resource with the id of the example"}},
	Records:    records,
}.ParsedBy(parse)

// isLogs reports whether a file has the log records of another one.
func isLogs(name string) bool { return strings.Contains(name, ".logs.") }

// stem returns what the names of the files of one run share.
func stem(base string) string {
	return strings.NewReplacer(".logs.", ".", ".traces.", ".", ".spans.", ".").Replace(base)
}
