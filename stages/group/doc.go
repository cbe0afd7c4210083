// Package group forms groups and computes advantages. It reads scores and writes a thin dataset
// of members, one row for each row of the base, and a table _groups with a row of statistics per
// group. On request it also writes _pairs, preferences among the members or the candidates of a
// turn (package pairs), and _labels, desirable and undesirable answers for KTO.
//
//	group, job, options, input, write   Run; its settings; the datasets it reads; groups of adjacent rows, written
//	estimator, grouper, valid           Estimator; what it gets: rewards that are valid
//	components, lengths, recompute      named rewards, tokens, advantages again for curate
//	by, keys                            what a group and its parts are: --by, and the key of each row
//	steps                               sampled messages, and what they answer
//	read, joined_scores, input_checks   rows by group, with the rewards of several scores; rows that are refused
//	adjacency                           whether the rows of groups are adjacent
//	forks                               forks of one prefix are a group, beside that of their example
//	scattered, scattered_write          groups whose rows are not adjacent, sorted on disk
//	lone_attempt                        whether an attempt that is alone in its group trains
//	tally                               counts and the report
//
// A group is all trajectories of one example in one epoch, or of one value of
// Options.By in one epoch. Failed and unscored trajectories are members that
// are excluded, never scored as 0: they are in no sum and no count, their
// advantage is null, and no other advantage depends on their number.
//
// Rewards may come from several score datasets of the same trajectories: those
// named in Options.Scores are joined with the input's (joinedScores).
//
// Rollout writes the rows of a group next to each other, so that one pass over the light columns
// is enough (groupAdjacent). Columns that members repeat from scores are copied by the row
// group, without decoding (shards.ColumnSource). If a group's rows are not adjacent, rows are
// sorted on disk by group, and then back (groupScattered).
//
// In either case members are in the base's order, and rows of _groups in the order of their
// first members. So readers that need a group's rows together check whether each group ends, by
// its first_row and count, where the next begins. Memory holds one group, not the dataset.
//
// Groups are sorted, not collected in a hash table. Running sums would do for mean
// and deviation, but estimators that compare members need all rewards of a group
// at once, and no bit of the statistics may depend on the rows' order.
//
// An Estimator computes the advantages of a group. To add one, see package
// estimators. Steps that need the whole batch are left to curate, and those
// that need tokens to the trainer; the manifest's state names both (Estimator.Batch,
// Estimator.Whiten). This package drops nothing; curate does.
package group
