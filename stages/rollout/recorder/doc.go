// Package recorder is the proxy that every model call of a rollout passes
// through. It speaks the APIs of OpenAI and Anthropic's Messages. Each
// trajectory has a base URL of its own. A call to it is forwarded to an engine
// with a request for logprobs and token ids, answered with only what the agent
// requested, and recorded in a tree of messages (formats/tree).
//
// It is not a gateway: it never answers from a cache, picks no model, and
// changes no text, except tool arguments that an agent rewrote
// (session_outcomes.go). An engine's error reaches the agent unchanged, or in
// the form of the agent's API.
//
// # A request's way through the packages
//
//  1. serve_routes.go finds the session by the URL and the API by the path.
//     Other requests are refused, forwarded (serve_pass.go) or count tokens (serve_count.go).
//     Agents in this process call without a connection (serve_direct.go).
//  2. serve.go reads the request. Package apis decodes it: the prompt becomes
//     messages, and the fields become those of the engine's request.
//  3. session.go records that the call began: it restores rewritten tool
//     arguments (session_outcomes.go), adds the prompt to the tree (formats/tree), and adds
//     the fields that training needs. session_outcomes.go refuses a call over the
//     limit. A call that an earlier process made gets that answer (resume.go).
//  4. Package engines sends the request and retries it.
//  5. Package completion reads the body, or the chunks of the stream, into an answer:
//     choices with a message and tokens. What the agent did not request is cut
//     from the bytes while they are read.
//  6. The agent gets the body, or the engine's events as they come
//     (stream_relay.go). If its API is translated, it gets the encoded answer,
//     or events made from the engine's (stream_translate.go, agent_stream.go).
//  7. session.go records the answer before its last bytes reach the agent.
//     Package completion and model_name.go decide whether it can be trained on.
//
// # Who owns a token
//
// The engine samples a token, and only package completion reads one. While a call
// runs, its tokens lie in its Choice, one list of ids for each source
// that the answer has, and one list of logprobs. Answer.KeepTokens stores one
// list of ids and the logprobs in the choice's message if they agree with each
// other and with the engine's count; otherwise it stores none and names the
// fault. Session.addAnswer gives that message to the tree, and from then on the
// tree owns it: Record hands out the tree's messages when the session has
// ended. Nothing else keeps tokens. What agents see is a copy of the engine's
// bytes.
//
// # Arguable decisions
//
//   - Prompt messages enter the tree when a call begins, not when it is
//     answered, so that a trajectory that failed at its first call can still
//     be explained. Such messages are leaves that no sampled message continues.
//   - The answer is recorded before its last bytes reach the agent: an agent
//     that sends its next call at once finds its own answer in the tree. When
//     streaming, everything after the finish reason is held back until the
//     engine's stream ends, which is usually the next packet.
//   - A prompt of /v1/completions has no roles. It is recorded as a user message
//     and its answer as an assistant message, so that it fits into the same
//     tree. The call's sampling says "api": "completions", because no chat
//     template made the prompt.
//   - A call that is not trained on is forwarded without a request for logprobs
//     or token ids: it may go to an engine that refuses them.
//   - If an engine refuses logprobs by name and the run can do without them, the
//     next call requests them again: llama-server refuses them only in streams
//     with tools.
//   - Calls of /v1/messages and /v1/responses are sent to the engine as chat
//     completions: no engine returns token ids or logprobs with messages, and in
//     vLLM's own responses tool calls and reasoning have no logprobs. The prompt
//     of messages is the one that vLLM's own /v1/messages makes of it.
//   - Their streams are made of the engine's stream. Text and reasoning are sent
//     as they come. A tool call may need its whole arguments to be shown, so
//     calls are sent at the end. While the engine is silent the agent gets
//     pings, because clients have limits for silence.
//   - An engine is asked for whole answers, which agents get as streams, if its
//     streams lack logprobs: it refuses them by name, sends text without them,
//     or is llama-server, which leaves out those of the end mark. So is an
//     engine whose tokens did not fit after a stream.
//   - Tools that only OpenAI's servers run are left out of a request of
//     responses, because clients offer them to every server; the call's sampling
//     names them. Requests with files or stored conversations are refused, because
//     the prompt would lack these. Responses say that they are stored, and clients
//     trust that, so the session serves them and their items (serve_routes.go).
//   - Reasoning is also shown as "encrypted" content to a client that asks for
//     that, readable and with our mark, because such clients send back that alone.
//   - The sampled text of tool arguments is restored when a call returns in a
//     later prompt with arguments that are equal as JSON. An API without that
//     text lost it, and clients of chat completions encode arguments again.
//   - Requests of other kinds are forwarded unchanged, but only those in a closed
//     list (serve_routes.go), because the engine gets the operator's key with
//     them. They count for no limit of model calls and take no place in the
//     order of seeds.
//   - A call whose stream the engine broke off is not retried, because the agent
//     has seen its beginning. The agent sees its connection drop, or, in a
//     stream that is made here, the API's error event.
package recorder
