// Package completion reads what an engine answers: a chat completion or a text
// completion, whole or as a stream of events, with token ids and logprobs wherever engines
// put them. It is the only package that reads a sampled token.
//
// It sends nothing and knows no API of agents. What the agent did not request is cut
// from the bytes while they are read; everything else keeps its bytes.
//
// From the top: answer.go assembles an Answer with its choices out of a body or of the chunks of a stream
// (event_reader.go, event_stream.go), with the order of text and reasoning (segments.go) and tool calls (tool_calls.go).
// tokens.go reads ids, logprobs.go logprobs, and moved_tokens.go both where gateways put them; token_check.go decides
// whether they fit each other and the engine's count. cursor.go reads JSON once, from the outside in, and cuts from it.
//
// To accept another source of token ids, add it in tokens.go and in the list of schema.Tokens… constants.
package completion
