package schema

import (
	"slices"

	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
)

const (
	str  = "string"
	i32  = "int32"
	i64  = "int64"
	f64  = "float64"
	flag = "bool"
)

var (
	trajectoryID = Column{Path: "trajectory_id", Type: str,
		Meaning: "the attempt's id, from run, example, epoch and generation: the same after a re-run"}
	exampleID = Column{Path: "example_id", Type: str,
		Meaning: "id of the row of the task dataset; `row-<n>` when that has none"}
	groupID = Column{Path: "group_id", Type: str,
		Meaning: "`<example_id>@<epoch>`: identifies all trajectories of one example in one epoch; with group's `--by`, " +
			"its value takes the place of the example; that of forks is `<example_id>/<forked_from>/<fork_call>@<epoch>`"}
	epoch      = Column{Path: "epoch", Type: i32, Meaning: "which pass of the five stages, from 0"}
	generation = Column{Path: "generation", Type: i32, Meaning: "which attempt at the example, from 0; forks go on counting"}
	forkedFrom = Column{Path: "forked_from", Type: str, Meaning: "id of the trajectory whose calls before `fork_call` were answered as they " +
		"were recorded; it is in the same rollouts, or in the input `origins` that their manifest names", Null: "it is no fork", Since: "2.3"}
	forkCall = Column{Path: "fork_call", Type: i32, Meaning: "index in the calls of that trajectory of the first call that was sampled again",
		Null: forkedFrom.Null, Since: "2.3"}
	status       = Column{Path: "status", Type: str, Meaning: oneOf(outcomes.Statuses)}
	statusOfBase = Column{Path: "status", Type: str,
		Meaning: "the trajectory's, repeated so that this dataset can be read alone: " + oneOf(outcomes.Statuses)}
	reward = Column{Path: "reward", Type: f64, Meaning: "the total: the weighted sum of rewards",
		Null: "there is no reward: the trajectory failed, or a component has no value; never replaced by 0"}
	shaped = Column{Path: "shaped_rewards", Type: "list of float64",
		Meaning: "a reward for each step of the main path, in order", Null: "no step rewards"}
)

var rewardColumns = under("rewards", []Column{
	{Path: "name", Type: str, Meaning: "the component's name, as in `--reward NAME=…`"},
	{Path: "value", Type: f64, Meaning: "the component's value", Null: "it failed or was not computed; `failure` says which"},
	{Path: "weight", Type: f64, Meaning: "its weight in the total"},
	{Path: "failure", Type: str, Meaning: "why the value is null: " + oneOf(outcomes.RewardFailures), Null: "there is a value"},
	{Path: "error", Type: str, Meaning: "the failure as text", Null: "none"},
	{Path: "reason", Type: str, Meaning: "why the value is what it is", Null: "nothing was said", Since: "2.5"},
})

var trajectoryColumns = slices.Concat(
	[]Column{
		trajectoryID,
		{Path: "run", Type: str, Meaning: "the run's name"},
		exampleID, epoch, generation, forkedFrom, forkCall,
		{Path: "example", Type: str, Meaning: "the original input row: a JSON object with its keys in order", Payload: true,
			Heavy: true},
	},
	payload(under("messages", messageColumns)),
	payload(under("calls", callColumns)),
	[]Column{{Path: "tool_sets", Type: "list of string",
		Meaning: "each distinct set of tools that was offered: a JSON array of tool definitions as sent", Payload: true}},
	payload(under("candidates", candidateColumns)),
	under("artifacts", []Column{
		{Path: "name", Type: str, Meaning: "path of a file that the attempt left, where the agent worked", Volatile: true, Since: "2.1"},
		{Path: "bytes", Type: i64, Unit: "bytes", Meaning: "size of the file", Volatile: true, Since: "2.1"},
		{Path: "content", Type: str, Meaning: "text; a binary file as a base64 data URI, `data:;base64,`; only the beginning of a long file",
			Volatile: true, Heavy: true, Since: "2.1"},
	}),
	[]Column{
		{Path: "answer", Type: str,
			Meaning: "what the agent returned as its answer, else the text of the main path's last sampled message, of its " +
				"parts if it has them, without a refusal", Null: "nothing was sampled, or its text is empty", Paged: true},
		status,
		{Path: "stop_reason", Type: str, Meaning: "why it stopped, as the runner saw it: " + oneOf(outcomes.StopReasons)},
		{Path: "failure_class", Type: str, Meaning: "what failed: " + oneOf(outcomes.FailureClasses), Null: "status is not failed"},
		{Path: "error", Type: str, Meaning: "the failure as text, with the end of the program's stderr", Null: "none"},
		{Path: "model", Type: str, Meaning: "the target model's name", Null: "the model was not asked"},
		{Path: "policy_version", Type: i64, Meaning: "which weights answered the target calls",
			Null: "unknown, or the calls' versions differ"},
		{Path: "token_source", Type: str,
			Meaning: "where in the engine's answers the token ids were found, such as " + TokensChoice,
			Null:    "the engine gave none"},
		{Path: "prompt_tokens", Type: i32, Unit: "tokens",
			Meaning: "of the prompts of all calls, summed: a shared prefix counts each time"},
		{Path: "completion_tokens", Type: i32, Unit: "tokens", Meaning: "of the answers of all calls, summed"},
		{Path: "sampled_tokens", Type: i32, Unit: "tokens",
			Meaning: "in messages that are trained, those sampled by target calls: one for each of their logprobs"},
		{Path: "payload_digest", Type: str, Meaning: "XXH3-128 over the payload columns, 32 hex digits"},
		{Path: "reward", Type: f64, Meaning: reward.Meaning,
			Null: "the agent returned none and it was not scored yet, or " + reward.Null},
	},
	rewardColumns,
	[]Column{
		shaped,
		{Path: "group_id", Type: str, Meaning: groupID.Meaning, Null: "not grouped yet"},
		{Path: "advantage", Type: f64, Meaning: "the estimator's result for the group's rewards",
			Null: "not grouped yet, or the estimator returned none"},
	},
	advantageColumns,
	lossColumns,
	[]Column{
		{Path: "attempts", Type: i32, Meaning: "how often it was started until this result", Volatile: true},
		{Path: "diverged", Type: str, Meaning: "what was different when it asked something else than before its process died: prompt, tool, tools, " +
			"sampling or more", Null: "it asked the same, or was not begun before", Since: "2.4", Volatile: true},
		{Path: "started_at", Type: "timestamp", Unit: "microseconds, UTC", Meaning: "when the attempt began",
			Null: "the attempt was not made", Volatile: true},
		{Path: "finished_at", Type: "timestamp", Unit: "microseconds, UTC", Meaning: "when the attempt ended",
			Null: "the attempt was not made", Volatile: true},
		{Path: "metadata", Type: str, Meaning: "a JSON object of other data from the agent or an import", Null: "nothing"},
	},
)

var messageColumns = slices.Concat(
	[]Column{
		{Path: "parent", Type: i32, Meaning: "index in messages of the message before it; -1 at a root"},
		{Path: "role", Type: str, Meaning: "system, developer, user, assistant or tool, as sent"},
		{Path: "content", Type: str, Meaning: "the text", Null: "empty, or the content came as parts", Heavy: true},
		{Path: "content_parts", Type: str, Meaning: "the original JSON array of parts", Null: "the content is text",
			Heavy: true},
		{Path: "name", Type: str, Meaning: "the participant's name", Null: "none"},
		{Path: "reasoning", Type: str, Meaning: "reasoning that the engine returned separately from the content",
			Null: "none", Heavy: true},
		{Path: "tool_call_id", Type: str, Meaning: "of a tool message: the id of the call that it answers",
			Null: "not a tool message"},
	},
	toolCallColumns,
	[]Column{
		{Path: "sampled", Type: flag, Meaning: "the model generated it in this trajectory; false: it was input"},
		{Path: "finish_reason", Type: str, Meaning: "why the model stopped, as the engine reported it",
			Null: "not sampled, or the engine gave none"},
		{Path: "call", Type: i32, Meaning: "index in calls of the call that answered with it; -1 for input"},
		{Path: "branch", Type: str,
			Meaning: "why this message begins another branch of the tree: choice (a further one of n), retry, parallel " +
				"(the same prompt at once), history (edited or left), compaction (a summary or the last turns instead of " +
				"earlier messages), subagent (another system prompt, first message or session)",
			Null: "it continues its parent"},
		{Path: "token_ids", Type: "list of int32", Meaning: "the sampled tokens, exactly as the engine returned them; empty: it sampled none",
			Null: "not sampled, or the engine gave none", Heavy: true},
		{Path: "logprobs", Type: "list of float32", Unit: "nats",
			Meaning: "log probability of each sampled token, one for each of token_ids",
			Null:    "not sampled, or the engine gave none", Heavy: true},
		{Path: "token_texts", Type: "list of string",
			Meaning: "texts of the sampled tokens, as they came with the log probabilities: one for each of them",
			Null:    "not sampled, or the engine gave token ids or no texts", Heavy: true},
		{Path: "prompt_delta_ids", Type: "list of int32",
			Meaning: "of a sampled message: the prompt's ids after its nearest sampled ancestor's end; the whole prompt " +
				"when there is none, or on a prefix break", Null: "not sampled, or the engine gave no prompt ids",
			Heavy: true},
		{Path: "prefix_break", Type: str,
			Meaning: "why the prompt does not begin with the prompt and tokens of the nearest sampled ancestor: reasoning " +
				"(earlier reasoning was left out), arguments (tool arguments were rewritten; not in new datasets), " +
				"content (the agent changed its own earlier message), template (the same messages, rendered otherwise), " +
				"unknown (the ancestor's ids are not known)", Null: "it does, or there is nothing to compare"},
	},
)

var toolCallColumns = under("tool_calls", []Column{
	{Path: "id", Type: str, Meaning: "the tool call's id"},
	{Path: "name", Type: str, Meaning: "the tool's name"},
	{Path: "arguments", Type: str, Meaning: "the arguments' JSON text as sampled, valid or not", Heavy: true},
})

var callColumns = []Column{
	{Path: "model", Type: str, Meaning: "the model named in the response; the requested one when there is no response"},
	{Path: "policy_version", Type: i64, Meaning: "which weights answered", Null: "unknown"},
	{Path: "sampling", Type: str,
		Meaning: "a JSON object of the sampling settings as sent: temperature, top_p, seed, …; and what the recorder noted of the call"},
	{Path: "tools", Type: i32, Meaning: "index in tool_sets of the tools offered; -1 for none"},
	{Path: "prompt_tokens", Type: i32, Unit: "tokens", Meaning: "of the prompt, as the engine counted; 0 when it did not"},
	{Path: "completion_tokens", Type: i32, Unit: "tokens",
		Meaning: "of the answer, as the engine counted; 0 when it did not"},
	{Path: "cached_tokens", Type: i32, Unit: "tokens", Meaning: "of the prompt, found in the engine's cache", Volatile: true},
	{Path: "target", Type: flag, Meaning: "a call to the model and function under training that is not auxiliary " +
		"(a title, a summary: the guide to harnesses says how it is told); false: recorded, not trained"},
	{Path: "logprobs_mode", Type: str,
		Meaning: "which logprobs the engine was found to return: raw (of the model, before temperature, penalties and " +
			"truncation) or processed (of the distribution that was sampled)", Null: "the engine was not tested"},
	{Path: "function", Type: str, Meaning: "the agent's function that made the call", Null: "unknown"},
	{Path: "error", Type: str, Meaning: "why there is no answer", Null: "there is one"},
	{Path: "endpoint", Type: str, Meaning: "which of several endpoints answered, without credentials", Null: "unknown",
		Volatile: true},
	{Path: "latency_ms", Type: i64, Unit: "milliseconds", Meaning: "from the request to the answer's end", Volatile: true},
	{Path: "attempts", Type: i32, Meaning: "requests made until the answer came; 0 for the repeated calls of a fork, which have no tokens of their own",
		Volatile: true},
	{Path: "repeated", Type: flag, Meaning: "its answer is that of the trajectory that is forked",
		Null: "false; before schema 2.4, in a fork: if attempts is 0", Since: "2.4"},
	{Path: "replayed", Type: flag, Meaning: "its answer was given to an earlier process, which died or was stopped", Null: "false", Since: "2.4",
		Volatile: true},
}

var candidateColumns = slices.Concat([]Column{
	{Path: "message", Type: i32, Meaning: "index in messages of the message that it was an alternative to; -1 when unknown"},
	{Path: "turn", Type: str, Meaning: "the agent's name for the turn", Null: "none"},
	{Path: "content", Type: str, Meaning: "the alternative's text", Heavy: true},
	{Path: "score", Type: f64, Meaning: "the agent's score of it, higher is better", Null: "not scored"},
	{Path: "metadata", Type: str, Meaning: "a JSON object", Null: "nothing"},
	{Path: "reason", Type: str, Meaning: "why it is kept: " + oneOf(outcomes.CandidateReasons) +
		" (another choice of one call, or an answer after which the agent asked again); it is not trained",
		Null: "the agent scored it"},
	{Path: "reasoning", Type: str, Meaning: "as the message's", Null: "none", Heavy: true},
}, toolCallColumns, []Column{
	{Path: "finish_reason", Type: str, Meaning: "why the model stopped, as the engine reported it",
		Null: "the engine gave none, or it is the agent's"},
	{Path: "call", Type: i32, Meaning: "index in calls of the call that answered with it", Null: "unknown"},
	{Path: "token_ids", Type: "list of int32", Meaning: "the sampled tokens, exactly as the engine returned them",
		Null: "the engine gave none, or it is the agent's", Heavy: true},
	{Path: "logprobs", Type: "list of float32", Unit: "nats", Meaning: "log probability of each sampled token",
		Null: "the engine gave none, or it is the agent's", Heavy: true},
	{Path: "token_texts", Type: "list of string",
		Meaning: "texts of the sampled tokens, as they came with the log probabilities",
		Null:    "the engine gave token ids or no texts", Heavy: true},
})

var scoreColumns = slices.Concat(
	[]Column{trajectoryID, exampleID, epoch, generation, forkedFrom, forkCall, statusOfBase, reward},
	rewardColumns,
	[]Column{
		shaped,
	},
	signalColumns,
	[]Column{
		{Path: "failure", Type: str, Meaning: "why reward is null: " + oneOf(outcomes.RewardFailures), Null: "there is a reward"},
		{Path: "error", Type: str, Meaning: "the failure as text", Null: "none"},
	},
)

var memberColumns = slices.Concat(
	[]Column{trajectoryID, exampleID, groupID, epoch, generation, forkedFrom, forkCall, statusOfBase, reward},
	rewardColumns,
	[]Column{
		shaped,
		{Path: "advantage", Type: f64, Meaning: "the estimator's result for the group's rewards",
			Null: "`no_advantage` says why"},
	},
	advantageColumns,
	lossColumns,
	[]Column{
		{Path: "no_advantage", Type: str, Meaning: "why advantage is null: " +
			oneOf([]string{training.NoAdvantageFailed, training.NoAdvantageUnscored,
				training.NoAdvantageSingleton}), Null: "there is one"},
	},
)

// advantageColumns: the list is null where every message has the trajectory's advantage.
var advantageColumns = under("advantages", []Column{
	{Path: "message", Type: i32, Meaning: "index in messages of a sampled message with an advantage of its own; the others have the " +
		"trajectory's", Since: "2.1"},
	{Path: "value", Type: f64, Meaning: "the advantage of each of its tokens; their mean where they differ", Since: "2.1"},
	{Path: "tokens", Type: "list of float32", Meaning: "an advantage for each of its token_ids",
		Null: "all have the value", Since: "2.1"},
})

// signalColumns: the list is null where no reward has any.
var signalColumns = under("signals", []Column{
	{Path: "message", Type: i32, Meaning: "index in messages of a sampled message", Since: "2.2"},
	{Path: "component", Type: str, Meaning: "the reward that says it", Since: "2.2"},
	{Path: "value", Type: f64, Meaning: "of the message; the mean of `values`, if there are any", Since: "2.2"},
	{Path: "values", Type: "list of float32", Meaning: "one for each of its token_ids; a teacher's are log probabilities in nats",
		Null: "the message has one number", Heavy: true, Since: "2.2"},
	{Path: "top_ids", Type: "list of int32", Meaning: "a teacher's most probable ids, as many for each token, the best first",
		Null: "not asked for", Heavy: true, Since: "2.2"},
	{Path: "top_logprobs", Type: "list of float32", Unit: "nats", Meaning: "log probabilities of `top_ids`", Null: "not asked for",
		Heavy: true, Since: "2.2"},
})

// lossColumns: the list is null where every message trains with the loss rl and the weight 1.
var lossColumns = under("losses", []Column{
	{Path: "message", Type: i32, Meaning: "index in messages of a sampled message; it trains with the losses that are listed, and one " +
		"without any with rl", Since: "2.2"},
	{Path: "loss", Type: str, Meaning: oneOf(training.Losses), Since: "2.2"},
	{Path: "weight", Type: f64, Meaning: "of each of its tokens in that loss", Since: "2.2"},
	{Path: "reference", Type: "list of float32", Unit: "nats", Meaning: "of ref_kl: the log probability of each of its token_ids under " +
		"the other model", Null: "another loss", Since: "2.2"},
})

var groupStatsColumns = []Column{
	groupID,
	{Path: "example_id", Type: str, Meaning: exampleID.Meaning + "; empty for a group of several examples"},
	epoch,
	{Path: "forks", Type: flag, Meaning: "its members are continuations of one prefix, and no attempts at the example", Null: "false", Since: "2.3"},
	{Path: "first_row", Type: i64,
		Meaning: "the group's first row in the base's order, from 0; where the rows of a group are not adjacent, the " +
			"others follow among those of other groups"},
	{Path: "count", Type: i32, Unit: "trajectories", Meaning: "in the group"},
	{Path: "valid", Type: i32, Unit: "trajectories", Meaning: "with a reward"},
	{Path: "mean", Type: f64, Meaning: "mean reward", Null: "no valid member"},
	{Path: "std_pop", Type: f64, Meaning: "standard deviation of the rewards, divisor n", Null: "no valid member"},
	{Path: "std_sample", Type: f64, Meaning: "standard deviation of the rewards, divisor n-1",
		Null: "fewer than two valid members"},
	{Path: "min", Type: f64, Meaning: "least reward", Null: "no valid member"},
	{Path: "max", Type: f64, Meaning: "greatest reward", Null: "no valid member"},
	{Path: "spread", Type: f64, Meaning: "max minus min", Null: "no valid member"},
	{Path: "solved", Type: f64, Unit: "share, 0 to 1",
		Meaning: "of valid members whose reward is at or above the solved threshold",
		Null:    "no valid member, or no threshold"},
	{Path: "solved_count", Type: i32, Unit: "trajectories",
		Meaning: "valid members whose reward is at or above the solved threshold"},
	{Path: "failed", Type: i32, Unit: "trajectories", Meaning: "members that failed or were skipped"},
	{Path: "unscored", Type: i32, Unit: "trajectories", Meaning: "members without a reward that did not fail"},
	{Path: "pass_at_k", Type: "list of float64", Unit: "probability, 0 to 1",
		Meaning: "for k = 1, 2, … up to valid, at most 64: that at least one of k valid members drawn without replacement " +
			"is solved, 1 - C(valid-solved_count, k) / C(valid, k)", Null: "no valid member"},
	{Path: "sampled_tokens", Type: i64, Unit: "tokens", Meaning: "sampled_tokens of the valid members, summed"},
	{Path: "length_mean", Type: f64, Unit: "tokens", Meaning: "mean sampled_tokens of the valid members",
		Null: "no valid member"},
	{Path: "length_min", Type: i32, Unit: "tokens", Meaning: "least sampled_tokens of a valid member",
		Null: "no valid member"},
	{Path: "length_max", Type: i32, Unit: "tokens", Meaning: "greatest sampled_tokens of a valid member",
		Null: "no valid member"},
}

var pairColumns = []Column{
	exampleID, groupID, epoch,
	{Path: "turn", Type: str,
		Meaning: "of candidates: the agent's name for the turn, or the index of the message that they are alternatives to",
		Null:    "the pair is of whole trajectories"},
	{Path: "chosen_id", Type: str, Meaning: "trajectory of the better one"},
	{Path: "rejected_id", Type: str,
		Meaning: "trajectory of the worse one; that of the better one when both are its candidates"},
	{Path: "chosen_index", Type: i32,
		Meaning: "in that trajectory: index in candidates; for whole trajectories, index in messages where the two diverge"},
	{Path: "rejected_index", Type: i32, Meaning: "as chosen_index, of the worse one"},
	{Path: "chosen_score", Type: f64, Meaning: "the candidate's score, or the trajectory's reward"},
	{Path: "rejected_score", Type: f64, Meaning: "as chosen_score, of the worse one"},
	{Path: "margin", Type: f64, Meaning: "chosen_score minus rejected_score"},
	{Path: "prompt", Type: str, Meaning: "a JSON array of the chat messages that both share"},
	{Path: "chosen", Type: str, Meaning: "a JSON array of the better one's messages after the prompt"},
	{Path: "rejected", Type: str, Meaning: "a JSON array of the worse one's messages after the prompt"},
	{Path: "tools", Type: str, Meaning: "a JSON array of the tools that both were offered", Null: "none"},
}

var labelColumns = []Column{
	trajectoryID, exampleID, groupID, epoch, generation,
	{Path: "desirable", Type: flag, Meaning: "its reward is at or above the solved threshold"},
	{Path: "reward", Type: f64, Meaning: reward.Meaning},
	{Path: "prompt", Type: str, Meaning: "a JSON array of the chat messages before the first that the model sampled"},
	{Path: "completion", Type: str, Meaning: "a JSON array of the chat messages from there on"},
	{Path: "tools", Type: str, Meaning: "a JSON array of the tools that were offered", Null: "none"},
}

var decisionColumns = []Column{
	trajectoryID, exampleID, groupID, epoch, generation,
	{Path: "kept", Type: flag, Meaning: "it is in the curated dataset"},
	{Path: "reason", Type: str, Meaning: "why it was dropped, by the first rule that refused it", Null: "it was kept"},
	{Path: "detail", Type: str, Meaning: "the rule's numbers as text", Null: "none"},
}

var plannedColumns = []Column{
	exampleID, groupID, epoch,
	{Path: "generations", Type: i32, Unit: "trajectories", Meaning: "how many more to make"},
	{Path: "first_generation", Type: i32, Meaning: "the number of the first of them, in this epoch"},
	{Path: "forked_from", Type: str, Meaning: "id of the trajectory whose calls before `fork_call` are repeated, not sampled",
		Null: "attempts from the start", Since: "2.3"},
	{Path: "fork_call", Type: i32, Meaning: "index in its calls of the first that is sampled again",
		Null: "attempts from the start", Since: "2.3"},
	{Path: "reason", Type: str, Meaning: "why: " + oneOf(decision.PlanReasons)},
	{Path: "count", Type: i32, Unit: "trajectories", Meaning: "in the group so far"},
	{Path: "valid", Type: i32, Unit: "trajectories", Meaning: "of these, with a reward"},
	{Path: "failed", Type: i32, Unit: "trajectories", Meaning: "of these, failed or skipped"},
	{Path: "solved", Type: f64, Unit: "share, 0 to 1",
		Meaning: "of valid members whose reward is at or above the solved threshold", Null: "no valid member"},
	{Path: "std_pop", Type: f64, Meaning: "standard deviation of the rewards, divisor n", Null: "no valid member"},
}

var exampleStatsColumns = []Column{
	{Path: "example_id", Type: str, Meaning: exampleID.Meaning, Since: "2.3"},
	{Path: "policy_version", Type: i64, Meaning: "which weights made the attempts", Null: "unknown", Since: "2.3"},
	{Path: "attempts", Type: i32, Unit: "trajectories", Meaning: "made in all epochs so far, forks not among them", Since: "2.3"},
	{Path: "failed", Type: i32, Unit: "trajectories", Meaning: "of these, failed", Since: "2.3"},
	{Path: "scored", Type: i32, Unit: "trajectories", Meaning: "of these, with a reward", Since: "2.3"},
	{Path: "passes", Type: i32, Unit: "trajectories", Meaning: "of these, at or above the solved threshold", Since: "2.3"},
	{Path: "mean", Type: f64, Meaning: "mean reward", Null: "none has a reward", Since: "2.3"},
	{Path: "std_pop", Type: f64, Meaning: "standard deviation of the rewards, divisor n", Null: "none has a reward", Since: "2.3"},
	{Path: "prompt_tokens", Type: i64, Unit: "tokens", Meaning: "of all attempts' calls", Since: "2.3"},
	{Path: "completion_tokens", Type: i64, Unit: "tokens", Meaning: "of all attempts' calls", Since: "2.3"},
	{Path: "last_epoch", Type: i32, Meaning: "the last epoch with an attempt", Since: "2.3"},
}

var workspaceColumns = []Column{
	{Path: "trajectory_id", Type: str, Meaning: trajectoryID.Meaning, Since: "2.4"},
	{Path: "piece", Type: i32, Meaning: "which piece of the trajectory's archive, from 0", Since: "2.4"},
	{Path: "runtime", Type: str, Meaning: "what ran the container: podman, docker, bwrap or command",
		Null: "not the first piece", Since: "2.4"},
	{Path: "image_digest", Type: str, Meaning: "the image's id, as the runtime gives it", Null: "there is no image", Since: "2.4"},
	{Path: "digest", Type: str, Meaning: "SHA-256 of the archive before it was compressed", Null: "no archive was kept: `left_out` says why",
		Since: "2.4"},
	{Path: "size", Type: i64, Unit: "bytes", Meaning: "of the archive before it was compressed", Since: "2.4"},
	{Path: "paths", Type: i64, Meaning: "how many paths the archive adds, changes or removes", Since: "2.4"},
	{Path: "left_out", Type: "list of string", Meaning: "what the attempt left that is not in the archive, each with the reason", Since: "2.4"},
	{Path: "bytes", Type: str, Unit: "base64", Heavy: true, Since: "2.4",
		Meaning: "of the archive, a tar compressed by Zstandard; empty if an earlier row has the archive, or none was kept"},
}
