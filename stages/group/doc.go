// Package group forms groups and computes advantages: scores in, a thin
// dataset of members out, one row beside each row of the base, and a table
// _groups with a row of statistics per group; on request _pairs, preferences
// among the members or the candidates of a turn (Pairs), and _labels, wanted
// and unwanted answers for KTO.
//
// A group is all trajectories of one example in one epoch, which lie together
// in the base. Failed and unscored trajectories are members that never vote:
// they are out of every sum and count, their advantage is null, and nobody
// else's depends on how many there are.
//
// What the rewards of a group become is an Algorithm's matter. To add one:
// see algorithms/all. What needs the whole batch is left to curate, and what
// needs tokens to the trainer; the manifest's state says both (Finisher,
// formats.GroupState). This package does not drop anything; that is curate's.
package group
