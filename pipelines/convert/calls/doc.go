// Package calls joins single calls to the conversations that a recorder would have recorded, had it
// stood between agent and model. The calls come in any order; the same calls give the same
// conversations in whatever order and from however many files they come.
//
// It reads no files and knows no format. New makes a call of a row that an importer read and refuses
// other rows; a Joiner links calls by digests of their messages; Conversation.Item builds one
// trajectory by formats/tree, whose rules decide what is the same message, a branch and its reason.
//
// Arguable decisions:
//
//   - A call continues the longest answer with which its prompt begins. Nothing else links calls
//     without Options.By: a compacted history or a sub-agent shares no answer with its parent, and
//     is a conversation of its own. Two answers to one prompt are two attempts.
//   - If several conversations gave that answer to that prompt, the log does not show which one went
//     on. All calls that gave it are ambiguous, each a failed row, and the call that goes on begins a
//     conversation. Equal answers that no call continues are finished attempts.
//   - A prompt that has, after its longest known answer, an answer that no call of the log gave, to a
//     prompt that no call of the log asked, shows that calls are missing: two trees, not a guess.
//   - Order is that of the calls' times; among equal or unknown times the shorter prompt comes first,
//     and not the order of the files, which is not that of the calls.
package calls
