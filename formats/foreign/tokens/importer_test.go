package tokens

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

const made = "../../../testdata/importers/tokens/"

// mapped is what a user says of each writer's files; the guide has the same.
var mapped = map[string]map[string]string{
	"agentcore.jsonl":     {inputIDs: "token_ids", responseMask: "loss_mask", responseLogprobs: logprobs, "example_id": "rollout_id"},
	"skyrl-by-docs.jsonl": {"tokenizer": "Qwen/Qwen2.5-0.5B"},
	"slime-by-docs.jsonl": {inputIDs: "tokens", responseMask: "loss_mask", responseLogprobs: "rollout_log_probs", "example_id": "group_index",
		"attempt": "index", unmasked: "response"},
	"areal-by-docs.jsonl": {"example_id": "uid", reward: "rewards"},
	"calls-by-docs.jsonl": {messages: "conversations", "example_id": "task", reward: "score"},
	"verl-sft.jsonl":      {},
	"verl-batch.jsonl":    {responseLogprobs: "rollout_log_probs", "example_id": "uid"},
}

func options(path string) importers.Options {
	return importers.Options{Map: mapped[filepath.Base(path)]}
}

func TestRun(t *testing.T) {
	for name := range mapped {
		foreigntest.Importer(t, Importer, options(name), made+name)
	}
}

func FuzzTokens(f *testing.F) {
	all := importers.Options{Map: map[string]string{responseLogprobs: "l", responseMask: "m", "policy_version": "p"}}
	seeds := foreigntest.Seeds(f, 20000, made+"skyrl-by-docs.jsonl", made+"areal-by-docs.jsonl", made+"calls-by-docs.jsonl")
	foreigntest.Fuzz(f, Importer, all, "f.jsonl", append(seeds, []byte(`{"prompt_ids":[1],"response_ids":[2,3],"m":[1,true],"l":[-1,null],"versions":[{"start":0,"end":2}],"p":[1]}`),
		[]byte(`{"input_ids":"[1,2]","m":"[1]","response_length":1,"attention_mask":[1,0],"status":"truncated","reward":{"a":1}}`))...)
}

// TestRefused: what contradicts itself, or is not said, is an error that names the column.
func TestRefused(t *testing.T) {
	for row, want := range map[string]string{
		`{"input_ids":[1,2],"loss_mask":[0,0.5]}`:                                          `column "loss_mask": value 1 is "0.5", not 0, 1, true or false`,
		`{"input_ids":[1,2],"loss_mask":[0,2]}`:                                            `value 1 is "2"`,
		`{"input_ids":[1,2],"loss_mask":[0,"x"]}`:                                          `not 0, 1, true or false`,
		`{"input_ids":[1,2,3],"loss_mask":[0,1]}`:                                          `column "loss_mask" has 2 values for 3 ids (a column of the response alone is --map response_mask=COLUMN`,
		`{"input_ids":[1,2],"loss_mask":[0,1,1]}`:                                          `has 3 values for 2 ids`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"logprobs":[-1]}`:                            `column "logprobs" has 1 values for 2 ids`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"logprobs":[0,null]}`:                        `column "logprobs": value 1 is "null", not a log probability`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"logprobs":[0,0.5]}`:                         `is not a finite number of at most 0`,
		`{"input_ids":[1,-2],"loss_mask":[0,1]}`:                                           `column "input_ids": "-2" is not a token id`,
		`{"input_ids":[1,2147483648],"loss_mask":[0,1]}`:                                   `is not a token id`,
		`{"input_ids":[1,2.5],"loss_mask":[0,1]}`:                                          `is not a token id`,
		`{"input_ids":[[1,2]],"loss_mask":[[0,1]]}`:                                        `is not a token id`,
		`{"input_ids":[1,2]}`:                                                              `it has no mask`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"response_mask":[1]}`:                        `it has two masks`,
		`{"loss_mask":[0,1]}`:                                                              `it needs the ids in one of three forms`,
		`{"input_ids":[1],"prompt_ids":[1],"response_ids":[1],"loss_mask":[1]}`:            `one of three forms`,
		`{"prompt_ids":[1],"loss_mask":[1]}`:                                               `one of three forms`,
		`{"input_ids":[1,2],"response_mask":[1,1,1]}`:                                      `says that the response has 3 of 2 ids`,
		`{"input_ids":[1,2],"response_mask":[1],"response_length":2}`:                      `"response_length" says that the response has 2 of 2 ids, another one has 1`,
		`{"prompt_ids":[1],"response_ids":[2,3],"response_mask":[1]}`:                      `says that the response has 1 of 3 ids, another one has 2`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"versions":[-1]}`:                            `column "versions" has 1 values for 2 ids`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"versions":[{"start":0,"end":1}]}`:           `is not in the response`,
		`{"input_ids":[1,2,3],"loss_mask":[0,1,1],"attention_mask":[1,0,1]}`:               `padding between ids`,
		`{"input_ids":[1,2,3],"loss_mask":[0,1,1],"attention_mask":[1,1,0]}`:               `padding that trains`,
		`{"completion_token_ids":[[1]],"input_ids":[1],"loss_mask":[1]}`:                   `is of one sequence`,
		`{"completion_token_ids":[1,2]}`:                                                   `has tokens of 1 answer, but the row has 2 sampled messages`,
		`{"completion_token_ids":[[1]],"prompt_token_ids":[[1],[2]]}`:                      `has tokens of 2 answers, but the row has 1 sampled message`,
		`{"completion_token_ids":[[1,2]],"logprobs":[[-1]]}`:                               `1 logprobs for 2 token ids`,
		`{"completion_token_ids":[[1,2]],"loss_mask":[[1,0]]}`:                             `is of one sequence`,
		`{"completion_token_ids":[[1]],"messages":[{"role":"user","content":"a"}]}`:        `has tokens of 1 answer, but the row has 0 sampled messages`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"policy_version":[1,2]}`:                     `column "policy_version" is "[1,2]", not a whole number`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"messages":[{"role":"user","content":"a"}]}`: `the assistant has 0 messages that are sampled, and the ids have 1 answers`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"status":"odd"}`:                             `column "status" is "odd"; known are`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"reward":[1,2]}`:                             `column "reward": "[1,2]" is not a finite number`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"sequences":2}`:                              `one of 2 sequences`,
		`{"prompt_ids":[1,2],"response_ids":[],"response_mask":[1]}`:                       `says that the response has 1 of 2 ids, another one has 0`,
		`{"input_ids":[1,2],"response_mask":[1],"versions":[{"start":0,"end":1,"policy_version":1},{"start":0,"end":1,"policy_version":2}]}`: `or not after the one before`,
		`{"prompt":"a","response":"b"}`: `it has no token ids`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"messages":[{"role":"assistant","content":"a","token_ids":[3]}]}`: `message 0 has token ids of its own`,
		`{"input_ids":[1,2],"loss_mask":[0,NaN]}`: `not 0, 1`,
	} {
		rows := foreigntest.Rows(Importer, importers.Options{}, "f.jsonl", []byte(row))
		if !strings.Contains(rows, want) {
			t.Errorf("%s\n got %s\nwant %s", row, rows, want)
		}
	}
}

// TestNamed: what is allowed and says little is kept by name.
func TestNamed(t *testing.T) {
	for row, want := range map[string]string{
		`{"input_ids":[1,2],"loss_mask":[0,0]}`:                                     `"input_ids":[1,2]`,
		`{"input_ids":[1,2,3],"loss_mask":[0,1,0]}`:                                 `"ids_after_the_last_answer":[3]`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"logprobs":[-3,-1]}`:                  `"Metadata":{"logprobs":[-3,-1]`,
		`{"input_ids":[1,2],"loss_mask":[false,true],"remove_sample":true}`:         `"Sampling":{},"Tools":-1`,
		`{"completion_token_ids":[[1]],"remove_sample":true}`:                       `"Sampling":{},"Tools":-1`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"reward":3,"status":"failed"}`:        `"Metadata":{"reward":3`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"status":"","response_length":""}`:    `"TokenIDs":[2]`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"rewards":{"a":1},"status":"failed"}`: `"Metadata":{"rewards":{"a":1}`,
		`{"input_ids":[1,2],"loss_mask":[0,1],"prompt_token_ids":[1]}`:              `"Metadata":{"prompt_token_ids":[1]`,
		`{"prompt_ids":[1,2],"response_ids":[],"response_mask":[]}`:                 `"input_ids":[1,2]`,
	} {
		if rows := foreigntest.Rows(Importer, importers.Options{}, "f.jsonl", []byte(row)); !strings.Contains(rows, want) || strings.Contains(rows, "lost") {
			t.Errorf("%s\n got %s\nwant %s", row, rows, want)
		}
	}
}
