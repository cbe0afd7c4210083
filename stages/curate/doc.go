// Package curate decides what is worth training on: groups in, a wide dataset
// of the chosen trajectories out, self-contained, a table _decisions with a
// row for every input trajectory, and a table _plan of the examples that
// deserve more generations (see Next). Group datasets of other epochs may be
// trained on again beside the first (Options.Replay): all of them are one plan.
//
// In order: failed members go (failed), then unscored ones (unscored); then
// each Rule of the registry refuses groups by their statistics; then rules
// that are RowRules or MemberRules refuse single members of the groups that
// are left; and some GroupRules (Kind.Again) judge the groups that lost members
// once more, unless a rule took them apart on purpose (Kind.Last). So a rule that compares groups, such as the curriculum, counts
// groups of which a later look at the rows may leave nothing. A trajectory
// carries the first reason that refused it; the state in the manifest lists
// the rules as they ran.
//
// Advantages keep the meaning that group gave them, whoever of the group is
// dropped here, unless Options.Recompute asks for those of the members that
// are left. A step that an estimator left for the whole batch
// (formats.BatchStep) is done here, over every member that has an advantage.
//
// What group wrote beside the rows goes along: _pairs of which both members are
// kept, and _labels of kept members; what does not is counted by reason in the
// facts (see sideTables). So one trajectory with alternatives to compare at its turns
// goes on only when the rules let a group of one go on (KeepFlat, MinValid 1).
//
// Decisions are a pure function of the groups, their rows, the epoch, the seed
// and the state of the epoch before. Every shard computes the same plan for
// the whole epoch from the group statistics, and writes its slice. Memory holds
// a byte of each group: the statistics lie in a temporary file when there are
// many (Groups).
//
// What is kept is copied from the base by the page and not decoded, unless
// another tool or version wrote the base; the rows are the same either way.
//
// To add a rule: see rules/all.
package curate
