// Package apis has the APIs that agents speak, one translator each: OpenAI's Chat
// Completions, Completions and Responses, and Anthropic's Messages. A translator reads
// a request as messages and as the fields that the engine gets, and writes the engine's
// answer in the form of its API.
//
// It does not talk to engines or agents, and it has no state but responses that later
// requests may name (responses_history.go).
//
// From the top: api.go lists the APIs and says what a translator is. request.go is what
// all requests have. chat.go and completions.go forward (forwarded.go); messages.go and
// responses.go, with the files that begin with their names, translate to chat
// completions, whose prompts chat_prompt.go builds. events.go is what encoders of streams share.
//
// To record another API, see All.
package apis
