// Package score gives trajectories their rewards: it reads a wide dataset and
// writes a thin one of named rewards and their weighted sum, aligned with it
// row by row. Scores can be made again, years later, from what is stored.
//
// It does not run agents, compare the members of a group with one another
// (package group does) or decide what is worth training on.
//
// A reward is a finite number or null with the class of what went wrong. A
// trajectory that failed or was skipped is never scored. A reward that has no
// value for a row leaves the row's total null, unless its weight is 0.
//
// Given a score dataset instead of a wide one, its named rewards are carried
// forward, rewards of the same name are replaced by those computed anew, and the
// total is summed again.
//
// Options.Only says of which rewards and rows something is computed at all;
// the rest is carried over from an earlier score dataset over the same
// trajectories. With pure rewards the rows are those of scoring anew: a reward
// that reads another one is computed wherever that changed, and of a row whose
// shaped rewards are a sum every part of it is.
//
// To add a reward in Go: a folder under rewards/ with its Kind and a Settings
// struct that makes the Reward, one line in rewards/all, and a test that hands
// the Kind to rewardtest.Run. What a spec's arguments may say, and help and the
// generated page, come from the settings' Declare. ExampleRewardKind is a whole
// one.
//
// To add one in any other language: a program that reads Requests and writes
// Answers, or a service that is posted them, named by a spec of kind command,
// arrow or http. testdata/rewards has one of each in Python, and says how.
package score
