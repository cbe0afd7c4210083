// Package recorder is the proxy that every model call of a rollout passes
// through; it speaks the APIs of OpenAI and Anthropic's Messages. Each trajectory has a base URL of its own. A call to
// it is forwarded to an engine with a request for logprobs and token ids,
// answered with only what the agent requested, and recorded in a Tree of
// messages.
//
// It is not a gateway: it never answers from a cache, picks no model, and
// changes no text, but for tool arguments that an agent wrote anew (restore.go).
// An engine's error reaches the agent unchanged.
//
// Arguable decisions:
//
//   - Prompt messages enter the tree when a call begins, not when it is
//     answered, so that a trajectory that failed at its first call can still
//     be explained. Such messages are leaves that no sampled message continues.
//   - The answer is recorded before its last bytes reach the agent: an agent
//     that sends its next call at once finds its own turn in the tree. When
//     streaming, everything after the finish reason is held back until the
//     engine's stream ends, which is usually the next packet.
//   - An assistant message that comes back changed only in what clients are
//     known to change (reasoning left out, tool arguments written anew,
//     surrounding space) continues the path; the change is recorded as the cause
//     if the engine's prompt ids show that the prefix broke.
//   - A prompt of /v1/completions has no roles. It is recorded as a user message
//     and its answer as an assistant message, so that it fits into the same tree.
//     The call's sampling says "api": "completions", because no chat template made
//     the prompt.
//   - A call that is not trained on is forwarded without a request for logprobs or
//     token ids: it may go to an engine that refuses them.
//   - If an engine refuses logprobs by name and the run can do without them, the
//     next call requests them again: llama-server refuses them only in streams
//     with tools.
//   - A call of /v1/responses is sent to the engine as chat completions too: in
//     vLLM's own responses, tool calls and reasoning have no logprobs. The same
//     code converts both APIs (chatprompt.go). Options.Responses says otherwise for
//     an engine whose responses are more than its chat completions.
//   - The stream of an agent that speaks another API than the engine is asked by is
//     made of the engine's stream (made.go). Text and reasoning are sent as they
//     come; a tool call may need its whole arguments to be shown, so calls are sent
//     at the end. A silent engine's agent gets pings, because clients have limits
//     for silence. An engine whose streams lack logprobs is asked for whole answers:
//     it refuses them by name, sends text without them, or is llama-server, which
//     leaves out the end mark's. So is one whose tokens did not fit after a stream.
//   - A call that goes to the engine's own /v1/responses is sent without streaming:
//     vLLM's streams lack the logprobs of tokens without visible text, such as the
//     end mark.
//   - Tools that only OpenAI's servers run are left out of such a request, because
//     clients offer them to every server; the call's sampling says so. What the
//     prompt would miss (files, references, stored conversations) is refused.
//   - Reasoning is also shown as "encrypted" content to a client that asks for
//     that, readable and with our mark, because such clients send back that alone.
//   - If an engine streams a response nevertheless, its last event is recorded,
//     because it contains the whole response. The deltas are used only if the last
//     event lacks logprobs.
//   - A call of /v1/messages is sent to the engine as chat completions, because no
//     engine gives token ids or logprobs with messages. The prompt is what vLLM's
//     own /v1/messages makes of it.
//   - The text of tool arguments is put back when a call returns in a later prompt
//     with arguments that are equal as JSON: an API without that text lost it, and
//     clients of chat completions encode arguments again. Whole numbers must be
//     equal in every digit, because the agent used those that it sends.
//   - Of two ways to name a branch below a shared system prompt, compaction needs a
//     sign of it (a summary that was sampled before, or the last turns). Without
//     one it is a sub-agent: agents that ask many things with one system prompt are
//     more common than summaries that no recorded call wrote.
//   - Requests of other kinds are forwarded as they are if they are in a closed
//     list (paths.go), because the engine gets the operator's key with them. They
//     count for no limit of model calls and take no place in the order of seeds.
//   - A call whose stream the engine broke off is not retried, because the agent
//     has seen its beginning; the agent sees its connection drop, or in a stream
//     that is made here the API's error event.
//
// To accept another source of token ids, add it in answer.go and in the list of
// formats.Tokens… constants. To record another API, describe it in api.go.
package recorder
