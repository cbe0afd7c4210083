// Package trl writes rows that Hugging Face TRL's trainers load: preference
// pairs for DPO and its kin, single answers with a label for KTO, whole
// conversations for SFT, and prompts for trainers that sample by themselves
// (GRPO, RLOO). All are conversational: lists of messages.
//
// What differs from row to row in its keys (tools, the arguments of a call,
// the example) is written as a JSON string, since Arrow would otherwise unite
// the keys of all rows and fill them with nulls.
//
// It chooses no rows: what is worth training on is curate's matter, and what to
// compare group's. Only for batches without pairs or labels does it compare
// the best of each group with the worst, and label by the advantage.
package trl
