// Package recorder is the OpenAI-compatible proxy that every model call of a
// rollout passes through. Each trajectory has a base URL of its own; what is
// asked there is forwarded to an engine with a request for logprobs and token
// ids, answered with what the agent asked for and no more, and kept as a tree
// of messages.
//
// It is not a gateway: it never answers from a cache, picks no model, and
// changes no text. An engine's error reaches the agent as the engine said it.
//
// Arguable decisions:
//
//   - Prompt messages enter the tree when a call begins, not when it is
//     answered, so that a trajectory that failed at its first call can still
//     be explained. Such messages are leaves that nothing sampled continues.
//   - The answer is recorded before its last bytes reach the agent: an agent
//     that asks its next question at once finds its own turn in the tree. When
//     streaming, what follows the finish reason is held back until the
//     engine's stream ends, which is the next packet.
//   - An assistant message that comes back changed only in what clients are
//     known to change (reasoning left out, tool arguments written anew,
//     surrounding space) continues the path; the change is named as the cause
//     if the engine's prompt ids show that the prefix broke.
//   - A prompt of /v1/completions has no roles. It is kept as a user's message
//     and its answer as the assistant's, so that a tree is a tree; the call's
//     sampling says "api": "completions", since no chat template made the prompt.
//   - A call that is not trained is sent no request for logprobs or token ids:
//     it may go to an engine that refuses them.
//   - Logprobs that an engine refuses by name are asked for again in the next
//     call, where a run can do without them: llama-server refuses them only to
//     streams with tools.
//   - A call of /v1/responses is always asked of the engine without streaming,
//     whatever the agent wants: vLLM's streams lack the logprobs of tokens
//     without visible text, the end mark's among them. An agent that streams
//     gets the events made of the whole response, each text in one delta, once
//     all of it is there.
//   - Of an engine that streams a response all the same, the last event is
//     recorded, which holds the whole; its deltas count only where the last
//     event lacks logprobs.
//   - A call that the engine broke off while streaming is not retried, since
//     the agent has seen its beginning; the agent sees its connection drop.
//
// To accept another source of token ids, add it in answer.go and in the list
// of formats.Tokens… constants. To proxy another route, describe
// it in api.go.
package recorder
