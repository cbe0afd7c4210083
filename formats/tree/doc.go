// Package tree arranges the messages of one attempt as a tree. Each message is
// below the message that it follows, and prompts with the same beginning share
// their first messages. A branch begins where a prompt differs from every known
// path. The recorder, agent nat and import --merge build their rows with it.
//
// It does not read requests or answers, it knows no API and no engine, and it
// is not safe for concurrent use. Package formats/chat renders a path of it.
//
// A token belongs to the sampled message whose answer it is. TokenIDs and
// Logprobs are in that message and nowhere else, however many branches share
// it, so each is trained on once. The ids between two sampled messages
// are the later one's PromptDeltaIDs. SplitAlternatives moves answers that the
// agent discarded, with their tokens, out of the tree into candidates.
//
// Arguable decisions:
//
//   - A prompt's message is a known one if they are equal, or if the known one was
//     sampled and differs only as clients are known to change it. They remove its
//     reasoning, change surrounding space, and write tool arguments that are equal
//     as JSON (equal.go). Path.Changed names such a change; it becomes the cause
//     in the row if the prompt's ids show that the prefix broke. Whole numbers in
//     arguments must be equal in every digit, because the agent used those that
//     it sends.
//   - Below a shared system prompt a branch is a compaction only if there is a sign
//     of one: a summary that was sampled before, or the last turns. Without a
//     sign it is a sub-agent: agents that ask many things with one system prompt
//     are more common than summaries that no recorded call wrote (branch.go).
package tree
