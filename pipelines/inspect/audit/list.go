package audit

// Checks is the list of what every dataset's rows are looked at for.
var Checks = []Check{
	{"rows", Error, "a row breaks what the columns promise: a failure with a reward, a log probability that is none, a parent after its child", true, newRows},
	{"empty", Error, "there are no rows", false, newEmpty},
	{"logprobs", Error, "what is to be trained on has no token ids or no log probabilities", true, newLogprobs},
	{"untrained", Error, "a finished trajectory holds nothing that was sampled from the target model", true, newUntrained},
	{"temperature", Warning, "log probabilities are raw at a temperature other than 1", true, newTemperature},
	{"failures", Warning, "more than a tenth of the trajectories failed", false, newFailures},
	{"unscored", Warning, "more than a tenth of the finished trajectories have no reward", false, newUnscored},
	{"truncated", Warning, "more than a fifth of the trajectories were cut off", false, newTruncated},
	{"flat", Warning, "in more than half of the groups all rewards are the same", false, newFlat},
	{"singleton", Warning, "of a group only one member is valid, with nothing to compare it with", false, newSingleton},
	{"same_answers", Warning, "in more than a fifth of the groups all members answered the same", false, newSameAnswers},
	{"prefix_breaks", Warning, "a prompt is not the earlier tokens and more: training would see other tokens than the policy did", true, newPrefixBreaks},
	{"tools_lost", Warning, "the model called tools whose definitions were not recorded, or whose answers are missing", true, newToolsLost},
	{"models", Warning, "several models, or several policy versions in one group, answered", true, newModels},
	{"stale", Warning, "policies long before the newest one answered", false, newStale},
	{"branches", Note, "trajectories branch: retries, sub-agents, compacted histories", true, newBranches},
	{"truncated_scored", Note, "attempts that were cut off have a reward, and vote in their group", false, newTruncatedScored},
	{"length", Note, "reward goes with length, or against it", false, newLength},
}

// The checks of datasets together, and of a dataset as a whole.
const (
	checkDamage      = "damage"
	checkChanged     = "changed"
	checkRepeated    = "repeated"
	checkLeak        = "leak"
	checkResubmitted = "resubmitted"
	checkUnfinished  = "unfinished"
)

// Further are the checks that look at more than one row after another.
var Further = []Check{
	{checkDamage, Damage, "a part's bytes, a table's rows or a row's payload are not what the manifest says", true, nil},
	{checkChanged, Error, "what the dataset was made from is gone, has changed or is damaged", true, nil},
	{checkRepeated, Error, "a trajectory is there twice", false, nil},
	{checkLeak, Error, "an example of a validation is trained on", true, nil},
	{checkResubmitted, Warning, "one batch was handed over twice", false, nil},
	{checkUnfinished, Note, "shards of a dataset are missing: it is being written, or its stage ended early; it is not looked at", false, nil},
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
