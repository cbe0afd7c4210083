// Package chat reads and writes conversations as Hugging Face datasets, TRL and
// OpenAI's fine-tuning store them, and reads those of ShareGPT and Alpaca.
// Exporter, Importer and ShareGPT say how.
package chat

import (
	"regexp"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/records"
)

// Importer reads chat messages as Hugging Face datasets, TRL, OpenAI's
// fine-tuning and NeMo-RL store them: conversations, prompts with completions,
// preferences, answers with a label, steps with labels. ShareGPT's turns and
// Alpaca's instructions are read too: [ShareGPT] is the same reader.
//
// The columns of a row decide what it is; see Parse. Assistants' messages of a
// conversation or of a completion are sampled; those of a prompt are input. Text
// that is not a message becomes one: a prompt is the user's; a completion, and the
// text of a language modelling dataset, is the assistant's. A message with weight
// 0, train false or loss false has a call that does not train.
//
// A preference gives two trajectories. Their rewards are the scores of the
// source, else 1 and 0, named "preference"; a label gives the reward 1 or 0, named
// "label". The column id is the trajectory's id; those of a pair end in "/chosen"
// and "/rejected".
//
// Arrow gives an object the keys of other rows' objects, with null. So members
// that are null are dropped from objects in tools and in parts of content, and
// from the arguments of a message or call that has other nulls. JSON text is not
// changed. A message may be JSON text, as in a column of that type.
//
// The columns question and answer and those in taskColumns become the example;
// every other column is metadata under its own name.
//
// To add a column: add a line to fields, and read it in a function of Parse.
var Importer = importers.Format{
	Name:       "chat",
	Help:       "chat messages as Hugging Face datasets, TRL, OpenAI's fine-tuning and NeMo-RL store them",
	Spec:       "https://huggingface.co/docs/trl/dataset_formats",
	Unscored:   regexp.MustCompile(`^reward$`),
	Extensions: records.Extensions(),
	Fields:     Fields(),
	Columns:    true,
	Records:    importers.Rows,
}.ParsedBy(Parse)

// Fields returns the names that --map can give to columns.
func Fields() []importers.Field {
	out := make([]importers.Field, 0, numFields+1)
	for _, f := range fields {
		out = append(out, importers.Field{Name: f.name, Help: f.help})
	}
	return append(out, importers.RoleField)
}

// field is a column that rows may have.
type field int

const (
	messages field = iota
	prompt
	completion
	chosen
	rejected
	label
	completions
	labels
	text
	context
	input
	instruction
	output
	history
	tools
	system
	reward
	rewards
	scoreChosen
	scoreRejected
	id
	chosenID
	rejectedID
	exampleID
	question
	answer
	model
	chosenModel
	rejectedModel
	policyVersion
	tokenIDs
	logprobs
	promptTokenIDs
	finishReason
	parallelToolCalls
	numFields
)

// fields describes the columns: the name of each is also its column unless
// --map says otherwise, and the aliases are read when it is missing.
var fields = [numFields]struct {
	name, help string
	aliases    []string
}{
	messages:   {"messages", "the conversation: a list of messages", []string{"conversations", "conversation"}},
	prompt:     {"prompt", "the prompt: messages or text", nil},
	completion: {"completion", "the answer to the prompt: messages or text", nil},
	chosen: {"chosen", "the preferred answer: messages or text, with or without the prompt",
		[]string{"preferred_output"}},
	rejected:    {"rejected", "the other answer", []string{"non_preferred_output"}},
	label:       {"label", "whether the answer is desirable (KTO)", []string{"kto_tag"}},
	completions: {"completions", "the steps of an answer, or its ranked alternatives (NeMo-RL)", nil},
	labels:      {"labels", "whether each step is correct", nil},
	text:        {"text", "plain text", nil},
	context:     {"context", "the prompt of ranked completions", nil},
	input:       {"input", "the request of a preference (OpenAI), or what an instruction is about (Alpaca)", nil},
	instruction: {"instruction", "the instruction (Alpaca)", nil},
	output:      {"output", "the answer to the instruction", nil},
	history:     {"history", "pairs of instructions and answers before it", nil},
	tools:       {"tools", "definitions of the tools: a list, or JSON text", []string{"functions"}},
	system:      {"system", "the system prompt", []string{"system_prompt"}},
	reward:      {"reward", "the total reward", []string{"score"}},
	rewards:     {"rewards", "an object of named rewards", nil},
	scoreChosen: {"score_chosen", "the score of the preferred answer",
		[]string{"chosen_score", "chosen_rating", "chosen-rating", "chosen_reward"}},
	scoreRejected: {"score_rejected", "the score of the other answer",
		[]string{"rejected_score", "rejected_rating", "rejected-rating", "rejected_reward"}},
	id:            {"id", "the trajectory's id", []string{"trajectory_id"}},
	chosenID:      {"chosen_id", "the id of the preferred answer's trajectory", nil},
	rejectedID:    {"rejected_id", "the id of the other answer's trajectory", nil},
	exampleID:     {"example_id", "the task's id, which attempts at it share", []string{"prompt_id", "instance_id"}},
	question:      {"question", "the task's question", nil},
	answer:        {"answer", "the task's reference answer", nil},
	model:         {"model", "the model that answered", []string{"model_name"}},
	chosenModel:   {"chosen_model", "the model of the preferred answer", []string{"chosen-model"}},
	rejectedModel: {"rejected_model", "the model of the other answer", []string{"rejected-model"}},
	policyVersion: {"policy_version", "which weights answered: a whole number", nil},
	tokenIDs: {"token_ids", "the ids of the sampled tokens: of the only answer, or a list for each",
		[]string{"completion_token_ids", "completion_ids"}},
	logprobs:          {"logprobs", "their log probabilities", []string{"completion_logprobs"}},
	promptTokenIDs:    {"prompt_token_ids", "the ids of the prompt's tokens", []string{"prompt_ids"}},
	finishReason:      {"finish_reason", "why the model stopped", nil},
	parallelToolCalls: {"parallel_tool_calls", "whether the model may call several tools at once", nil},
}

// taskColumns describe the task and not the attempt: they are the example.
var taskColumns = map[string]bool{
	"question": true, "answer": true, "problem": true, "solution": true, "ground_truth": true, "reference": true,
	"reference_answer": true, "task": true,
	"data_source": true, "ability": true, "reward_model": true, "extra_info": true,
}

// ShareGPT reads conversations in the form of ShareGPT: turns with "from" and
// "value", beside a system prompt and tools; LLaMA-Factory's preferences and
// labels of such conversations; and Alpaca's instructions.
//
// It is the same reader as Importer. A turn from function_call is a message of the assistant with the calls that
// its value describes; observation is a message of a tool.
var ShareGPT = importers.Format{
	Name:       "sharegpt",
	Help:       "conversations of ShareGPT and LLaMA-Factory, instructions of Alpaca",
	Spec:       "https://llamafactory.readthedocs.io/en/latest/getting_started/data_preparation.html",
	Extensions: records.Extensions(),
	Fields:     Fields(),
	Columns:    true,
	Records:    importers.Rows,
}.ParsedBy(Parse)
