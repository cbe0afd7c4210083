package audit

// Checks is the list of what every dataset is looked at for.
var Checks = []Check{
	{"rows", Error, "a row breaks what the columns promise: a failure with a reward, a log probability that is none, a parent after its child", newRows},
	{"empty", Error, "there are no rows", newEmpty},
	{"logprobs", Error, "what is to be trained on has no token ids or no log probabilities", newLogprobs},
	{"untrained", Error, "a finished trajectory holds nothing that was sampled from the target model", newUntrained},
	{"repeated", Error, "a trajectory is in its group twice", newRepeated},
	{"temperature", Warning, "log probabilities are raw at a temperature other than 1", newTemperature},
	{"failures", Warning, "more than a tenth of the trajectories failed", newFailures},
	{"unscored", Warning, "more than a tenth of the finished trajectories have no reward", newUnscored},
	{"truncated", Warning, "more than a fifth of the trajectories were cut off", newTruncated},
	{"flat", Warning, "in more than half of the groups all rewards are the same", newFlat},
	{"singleton", Warning, "of a group only one member is valid, with nothing to compare it with", newSingleton},
	{"same_answers", Warning, "in more than a fifth of the groups all members answered the same", newSameAnswers},
	{"prefix_breaks", Warning, "a prompt is not the earlier tokens and more: training would see other tokens than the policy did", newPrefixBreaks},
	{"tools_lost", Warning, "the model called tools whose definitions were not recorded, or whose answers are missing", newToolsLost},
	{"models", Warning, "several models, or several policy versions in one group, answered", newModels},
	{"branches", Note, "trajectories branch: retries, sub-agents, compacted histories", newBranches},
	{"length", Note, "reward goes with length, or against it", newLength},
}

// The checks of datasets together, and of a dataset as a whole.
const (
	checkDamage      = "damage"
	checkChanged     = "changed"
	checkLeak        = "leak"
	checkResubmitted = "resubmitted"
)

// Further are the checks that look at more than rows.
var Further = []Check{
	{checkDamage, Damage, "a part's bytes, a table's rows or a row's payload are not what the manifest says", nil},
	{checkChanged, Error, "what the dataset was made from is gone or has changed", nil},
	{checkLeak, Error, "an example of a validation is trained on", nil},
	{checkResubmitted, Warning, "one batch was handed over twice", nil},
}

// Names lists every check's name.
func Names() []string {
	var names []string
	for _, c := range Checks {
		names = append(names, c.Name)
	}
	for _, c := range Further {
		names = append(names, c.Name)
	}
	return names
}
