// Package tokens reads rows of token ids as trainers and their tools write them.
package tokens

import (
	"regexp"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/records"
)

// Importer reads rows of token ids: one sequence with a mask, or lists with the ids of each call.
// --map says which column is what, also whether a mask is of all ids or of the response; lengths
// decide nothing.
//
// In a sequence each run of ones in the mask is an answer, and the zeros before it are what its
// prompt adds. A change of the policy's version within a run begins another answer, unless
// messages say how many there are. With lists of calls, each has its whole prompt.
//
// With messages, the n-th answer is that of the n-th message that the assistant sampled. Without, the
// messages have no text: such rows train as sequences, and the finding no_text excludes them from what
// reads it. Of a mask without a one nothing trains. All other columns are read as package chat does.
var Importer = importers.Format{
	Name:       "tokens",
	Help:       "rows of token ids with masks and logprobs, as trainers such as SkyRL, verl, slime and AReaL have them",
	Spec:       "its fields; the guide importing shows how those of each trainer are mapped",
	Unscored:   regexp.MustCompile(`^reward$`),
	Extensions: records.Extensions(),
	Fields:     fields,
	Columns:    true,
	Records:    importers.Rows,
}.ParsedBy(parse)

const (
	inputIDs         = "input_ids"
	promptIDs        = "prompt_ids"
	responseIDs      = "response_ids"
	lossMask         = "loss_mask"
	responseMask     = "response_mask"
	responseLogprobs = "response_logprobs"
	attentionMask    = "attention_mask"
	responseLength   = "response_length"
	versions         = "versions"
	completionTokens = "completion_token_ids"
	unmasked         = "unmasked"
	messages         = "messages"
	promptTokens     = "prompt_token_ids"
	logprobs         = "logprobs"
	reward           = "reward"
)

// ofChat are the fields that package chat reads.
var ofChat = []string{messages, completionTokens, promptTokens, logprobs, reward, "rewards", "tools", "system", "id",
	"example_id", "model", "policy_version", "finish_reason"}

var fields = append([]importers.Field{
	{Name: inputIDs, Help: "the ids of a sequence, of prompts and answers"},
	{Name: promptIDs, Help: "in place of input_ids: the ids before the response"},
	{Name: responseIDs, Help: "in place of input_ids: those of the response"},
	{Name: lossMask, Help: "of all ids: 1 or true where the model sampled one that trains, else 0 or false"},
	{Name: responseMask, Help: "in place of loss_mask: of the response's ids, which are the last ones"},
	{Name: logprobs, Help: "their log probabilities: of all ids, or with completion_token_ids a list for each call"},
	{Name: responseLogprobs, Help: "in place of logprobs: of the response's ids"},
	{Name: attentionMask, Help: "of all ids: 0 for padding, which is left out"},
	{Name: responseLength, Help: "how many ids the response has, which is checked"},
	{Name: versions, Help: "of all ids: which weights sampled each, negative for none; or as sequences exports it"},
	{Name: completionTokens, Help: "a list for each call: the ids of its answer"},
	{Name: promptTokens, Help: "a list for each call: the ids of its whole prompt"},
	{Name: "epoch", Help: "the training step or pass"},
	{Name: "attempt", Help: "the number of the attempt at the task"},
	{Name: "status", Help: "completed, truncated, aborted, failed or pending; the last three are failures"},
	{Name: "remove_sample", Help: "true: nothing of the row trains"},
	{Name: "sequences", Help: "how many rows the trajectory has; more than 1 are refused: each would be an attempt"},
	{Name: unmasked, Word: true,
		Help: "no column, but the word response: in rows without a mask all of it trains, as in slime"},
	{Name: "tokenizer", Word: true, Help: "no column, but the name of the tokenizer of the ids, for the manifest"},
}, slices.DeleteFunc(chat.Fields(), func(f importers.Field) bool {
	listed := f.Name == logprobs || f.Name == promptTokens
	return f != importers.RoleField && (listed || !slices.Contains(ofChat, f.Name))
})...)
