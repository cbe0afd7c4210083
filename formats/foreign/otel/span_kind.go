package otel

import "strings"

// What a span is of.
const (
	kindModel = "model"
	kindTool  = "tool"
	kindAgent = "agent"
	kindJudge = "judge" // an evaluator or a guardrail
	kindOther = "other"
)

// kindOf returns what a span is of, by any of the conventions.
func kindOf(s *sourceSpan) string {
	switch s.text("gen_ai.operation.name") {
	case "chat", "generate_content", "text_completion", "completion":
		return kindModel
	case "execute_tool":
		return kindTool
	case "invoke_agent", "create_agent":
		return kindAgent
	case "embeddings", "invoke_workflow", "retrieval":
		return kindOther
	}
	switch strings.ToUpper(s.text("openinference.span.kind", "langfuse.observation.type", "traceloop.span.kind")) {
	case "LLM", "GENERATION":
		return kindModel
	case "TOOL":
		return kindTool
	case "AGENT":
		return kindAgent
	case "EVALUATOR", "GUARDRAIL":
		return kindJudge
	case "":
	default:
		return kindOther
	}
	for _, f := range s.attrs {
		if strings.HasPrefix(f.Key, "llm.request.") || strings.HasPrefix(f.Key, "gen_ai.request.") ||
			strings.HasPrefix(f.Key, "gen_ai.input.messages") {
			return kindModel
		}
	}
	for _, e := range s.events {
		if e.name == "gen_ai.choice" { // only the log records of the span are known
			return kindModel
		}
	}
	return kindOther
}
