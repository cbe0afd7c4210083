package otel

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
)

// Exporter writes trajectories as traces of OpenTelemetry, by its semantic
// conventions for generative AI (open-telemetry/semantic-conventions-genai), which
// Langfuse, Phoenix, MLflow and Weave read.
//
//   - A trajectory is a trace. Its root is a span invoke_agent with the ids, the
//     status and an event gen_ai.evaluation.result for each reward.
//   - A recorded call is a span chat, a tool call with a known result a span
//     execute_tool; both are children of the root.
//   - Ids are derived from the trajectory's id, so that a second export is the same
//     trace.
//   - Attributes for which the conventions have no name begin with "rollmill.".
//
// A trajectory records when it began and ended and how long each call took, not when
// each call began. So the calls follow one another, with equal pauses in which
// the tools run. Without recorded times all are 0.
//
// A line of a file is an OTLP request, ExportTraceServiceRequest, as JSON. Importer
// reads it, with --map example_id=rollmill.example_id.
var Exporter = exporters.Format{
	Name: "otel", For: exporters.Viewing, Help: "traces of OpenTelemetry by the GenAI conventions, an OTLP request a line",
	Omits: "token ids, log probabilities and examples",
	Of:    exporters.Rows, Exports: []exporters.Extension{exporters.JSONL},
	Lines: exporters.Lines(exporters.EachRow(func(t *formats.Trajectory, x *exporters.Item) Request {
		return Request{Spans: Spans(t, true, x.Lose)}
	})),
}
