// Package curate decides what is worth training on: groups in, a wide dataset
// of the chosen trajectories out, self-contained, and a table _decisions with
// a row for every input trajectory.
//
// In order: failed members go (failed), then unscored ones (unscored); then
// each Rule of the registry refuses groups by their statistics; then rules
// that are MemberRules refuse single members of the groups that are left; and
// rules that look at each group alone (Kind.Again) judge the groups that lost
// members once more. A trajectory carries the first reason that refused it.
// Advantages are not computed anew: they keep the meaning that group gave
// them, whoever of the group is dropped here.
//
// Decisions are a pure function of the groups, the epoch, the seed and the
// state of the epoch before. Every shard computes the same plan for the whole
// epoch from the group statistics, and writes its slice.
//
// To add a rule: see rules/all.
package curate
