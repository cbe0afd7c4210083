// Package score gives trajectories their rewards: it reads a wide dataset and
// writes a thin one of named rewards and their weighted sum, aligned with it
// row by row. Scores can be computed again, years later, from what is stored.
//
//	score, options, input, write       Run; its settings; the datasets it reads; what it writes
//	reward, spec, rewards              Reward and its Description; --reward; the rewards of a run
//	row, request, answer, judge        what a reward gets, what programs are sent and answer, models
//	source, columns, answer_parts      rows of the base, read with the columns that are needed
//	pipeline, compute, total           batches of groups, one reward after the other, the weighted sum
//	spans                              the faster path for rewards that need only the row
//	score_reader, copied, extended     rewards carried forward from the input, and values copied by --only
//	program_check, digests             programs tried on the first rows, files in the identity
//	tally                              counts, gates and the report
//
// It does not run agents, compare the members of a group with one another
// (package group does) or decide what is worth training on.
//
// A reward is a finite number, or null with a failure class. A trajectory that
// failed or was skipped is never scored. If a reward has no value for a row,
// the row's total is null, unless the weight is 0.
//
// If the input is a score dataset instead of a wide one, its named rewards are carried forward,
// rewards of the same name are replaced by new ones, and the total is summed again.
//
// Options.Only limits which rewards and rows are computed; the rest is copied from a previous
// score dataset of the same trajectories. With pure rewards the result equals a complete
// computation. A reward that reads another one is computed wherever that one changed, and if a
// row's shaped rewards are a sum, every part of the sum is computed.
//
// To add a reward in Go, write a file or folder in rewards/ with its Kind and a
// Settings struct that makes the Reward. Add a line to the list, and pass the Kind
// to rewardtest.Run in a test. A spec's arguments, help and the generated page
// come from the settings' Declare. ExampleRewardKind is a complete reward.
//
// To add one in another language, write a program that reads Requests and writes Answers, or a
// service that gets Requests by POST, and name it in a spec of kind command, arrow or http.
// testdata/rewards has one of each in Python, with explanations.
package score
