// Package curate decides what is worth training on. It reads groups and writes
// a self-contained wide dataset of the chosen trajectories. Table _decisions has a
// row for every input trajectory, and table _plan has the examples that deserve
// more generations (see PlanTable). Options.OtherEpochs adds group datasets of other
// epochs, to be trained on again; one plan covers them all.
//
//	curate, options, input, write       Run; its settings; the datasets it reads; what it writes
//	rule, apply                         Rule and its kinds; one rule on a list of groups
//	groups, group_stats, shard_groups   groups, read from _groups; those that a shard writes
//	group_rules, member_rules           the rules of groups, then those of members
//	base_rows, scattered                groups that are decided, and their rows; scattered ones
//	plan_table, requests, plan_forks    the table _plan: what groups lack, or forks
//	plan_settings, plan_draw, pass_rate  settings of plans; one that is drawn from a task file
//	example_counts                      the table _examples
//	side_tables                         _pairs and _labels
//	tally                               counts by rule and the report
//
// Members are dropped in this order:
//
//  1. Failed members (failed), then unscored ones (unscored).
//  2. Each Rule of the registry refuses groups by their statistics (Rule.Group, Rule.Groups).
//  3. Then it refuses single members of the remaining groups (Rule.Members, Rule.Rows).
//  4. Some rules (RuleKind.Again) judge again the groups that lost members,
//     unless a rule splits them on purpose (RuleKind.Last).
//
// So a rule that compares groups, such as the curriculum, counts groups that a
// later rule may empty. A trajectory has the first reason that refused it; the
// state in the manifest lists the rules in the order in which they ran.
//
// Advantages keep the values that group gave them, whichever members are dropped here. With
// Options.Recompute they are those of the remaining members. A step that an estimator left for
// the whole batch (training.BatchStep) is done here, over every member that has an advantage.
//
// Of the tables that group wrote with the rows, a pair is copied if both members
// are kept, and a label if its member is. The others are counted by reason in the
// facts (see sideTables). So one trajectory with alternatives to compare at its
// turns is kept only if the rules accept a group of one (KeepFlat, MinValid 1).
//
// Decisions are a pure function of the groups, their rows, the epoch, the seed and the state of
// the previous epoch. Every shard computes the same plan for the whole epoch from the group
// statistics, and writes its slice. Memory holds a byte per group; if there are many, the
// statistics are in a temporary file (Groups).
//
// Kept rows are copied from the base page by page and not decoded, unless
// another tool or version wrote the base; the rows are the same either way.
//
// To add a rule, see package rules.
package curate
