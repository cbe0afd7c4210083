package outcomes

import (
	"slices"
	"strings"
)

// What a finish reason means for an answer.
const (
	FinishEnded     = "ended"     // the model ended its answer itself
	FinishTruncated = "truncated" // a limit of tokens ended it
	FinishFailed    = "failed"    // something else ended it: the row must not be scored as an answer
)

// NoFinishReason names a missing finish reason (null) in a list of accepted ones.
const NoFinishReason = "null"

// The finish reasons that engines are known to send, in lower case. The lists
// are closed: every other reason, and a missing one, is FinishFailed.
var (
	// EndedReasons are those of OpenAI, vLLM, SGLang, llama.cpp, Ollama and
	// TensorRT-LLM (stop, tool_calls, function_call), of TGI (eos_token,
	// stop_sequence), Anthropic's (end_turn, tool_use) and other gateways' (eos, complete, completed).
	EndedReasons = []string{"stop", "tool_calls", "function_call", "eos_token", "stop_sequence", "end_turn", "tool_use",
		"eos", "complete", "completed"}

	// TruncatedReasons include Mistral's model_length and vLLM's repetition,
	// which stops an answer that repeats itself.
	TruncatedReasons = []string{"length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length",
		"repetition"}
)

// Finish returns FinishEnded, FinishTruncated or FinishFailed for the
// finish reason of an answer; accept names reasons that also count as ended.
func Finish(reason string, accept []string) string {
	name := strings.ToLower(strings.TrimSpace(reason))
	switch {
	case slices.Contains(EndedReasons, name):
		return FinishEnded
	case slices.Contains(TruncatedReasons, name):
		return FinishTruncated
	case slices.ContainsFunc(accept, func(a string) bool {
		return strings.EqualFold(a, name) || name == "" && strings.EqualFold(a, NoFinishReason)
	}):
		return FinishEnded
	}
	return FinishFailed
}
