// Package group forms groups and computes advantages: scores in, a thin
// dataset of members out, one row beside each row of the base, and a table
// _groups with a row of statistics per group; on request _pairs, preferences
// among the members or the candidates of a turn (Pairs), and _labels, wanted
// and unwanted answers for KTO.
//
// A group is all trajectories of one example in one epoch, or of one value of
// Options.By in one epoch. Failed and unscored trajectories are members that
// are excluded, never scored as 0: they are in no sum and no count, their
// advantage is null, and no other depends on how many there are.
//
// Rewards may come from several score datasets of the same trajectories: those
// named in Options.Scores join the input's (joined).
//
// As rollout writes them groups lie together, and one walk along the light
// columns does (scan). It notices when a group comes again: then rows are
// sorted by group and back, on disk (gather). Members stand in the base's order
// all the same, and rows of _groups in the order of their first members; so
// readers that want a group's rows together look whether first_row and count
// of one group end where the next begins. A group, unlike the dataset, is held
// in memory.
//
// Sorting beats a hash table of groups here: sums that are kept while rows
// pass by would do for mean and deviation, but estimators that compare members
// need all rewards of a group at once, and statistics must not depend on the
// rows' order to the last bit.
//
// What the rewards of a group become is an Estimator's matter. To add one:
// see estimators/all. What needs the whole batch is left to curate, and what
// needs tokens to the trainer; the manifest's state says both (Finisher,
// formats.GroupState). This package does not drop anything; that is curate's.
package group
