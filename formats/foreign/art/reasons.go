package art

// Why a row or a group cannot be sent to ART: a closed list.
const (
	Singleton      = "singleton"        // fewer than two members: nothing to compare with
	Flat           = "flat"             // all rewards equal: ART would train on rounding noise
	NoReward       = "no_reward"        // null: a failed trajectory is excluded
	BadReward      = "bad_reward"       // NaN or an infinity
	FirstRole      = "first_role"       // the first message is not from system, developer or user
	BadRole        = "bad_role"         // a role that ART does not know
	NoChoice       = "no_choice"        // no message sampled by the policy
	NoTokenIDs     = "no_token_ids"     // a sampled message without token ids
	TokenCount     = "token_count"      // ids, logprobs and the engine's count disagree
	BadLogprob     = "bad_logprob"      // NaN, an infinity, or an engine's floor (-9999)
	PrefixBreak    = "prefix_break"     // a prompt that does not continue the turn before it
	ToolMessage    = "tool_message"     // a tool message without the id of its call
	ContentParts   = "content_parts"    // content that is not text
	TooLong        = "too_long"         // longer than max_seq_length: ART would cut it silently
	BadFinish      = "finish_reason"    // not one of the five
	SharedTurn     = "shared_turn"      // a sampled turn on two branches would train twice
	Branches       = "branches"         // the server knows no additional histories
	PlainAssistant = "plain_assistant"  // an assistant message that the policy did not sample, which ART 0.4 trains on
	PlainToolCalls = "plain_tool_calls" // tool calls outside a choice do not survive
	ToolsDiffer    = "tools_differ"     // the tools change within a history
	BadTools       = "bad_tools"        // not a JSON array
	ToolsWrapped   = "tools_wrapped"    // a server that accepts only plain messages shows the model other tool definitions
)

// Reasons is the closed list, in the order of the checks.
var Reasons = []string{Singleton, Flat, NoReward, BadReward, FirstRole, BadRole, NoChoice, NoTokenIDs, TokenCount,
	BadLogprob, PrefixBreak,
	ToolMessage, ContentParts, TooLong, BadFinish, SharedTurn, Branches, PlainAssistant, PlainToolCalls, ToolsDiffer,
	BadTools, ToolsWrapped}

// hints are what may help, by reason.
var hints = map[string]string{
	Singleton:  "sample more generations, or drop such groups with curate",
	Flat:       "let curate drop flat groups",
	NoReward:   "score them (`rollmill score --only missing`), or drop them with curate",
	NoChoice:   "check --target-model and --target-function of rollout: no call counted as the policy's",
	NoTokenIDs: "the engine gave no token ids: serve with vLLM, or ask for return_tokens_as_token_ids",
	TokenCount: "the engine merged or lost logprobs; run rollout again on one that gives one per token",
	BadLogprob: "the engine returned a placeholder for an unknown value; drop such rows with curate's rule logprobs",
	PrefixBreak: "ART would train the turn on a history that the policy did not see; drop such rows with curate, or use " +
		"a chat template that does not rewrite earlier turns",
	TooLong: "raise init_args.max_seq_length, or drop long rows with curate",
	SharedTurn: "ART has no way to give a turn as context without training it; drop such rows with curate, or " +
		"train elsewhere",
	Branches:       "serve ART 0.4.11, which knows additional histories",
	PlainAssistant: "ART 0.4 would train on it; if that is intended, set accept_plain_assistant",
	ToolsDiffer:    "drop such rows with curate",
	ToolsWrapped: "ART 0.5 wraps each tool once more before its template sees it; serve 0.4.11, or call the " +
		"library in process",
}
