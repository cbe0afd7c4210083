// Package chat turns groups into lists of chat messages, from which the formats
// of trainers that read text are made: preference pairs for DPO and similar
// methods, single answers with a label for KTO, whole conversations for SFT, and
// prompts for trainers that sample themselves (GRPO, RLOO). The columns are those
// of Hugging Face TRL, which formats/foreign/trainers writes as they are; other
// formats convert them.
//
// Values whose keys differ from row to row (tools, the arguments of a call, the
// example) are JSON strings, because Arrow would merge the keys of all rows and
// fill them with nulls.
//
// It selects no rows: curate decides what is worth training on, and group what
// to compare. Only for batches without pairs or labels does it compare the best
// of each group with the worst, and label by the advantage.
package chat
