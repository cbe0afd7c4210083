// Package rules has curate's rules, a file each, and lists them in the order they
// run (All): first every rule's judgement of groups, then every rule's judgement of
// the members of the remaining groups, both in this order. To add one: a file, a
// line in All, and a test that calls ruletest.Run.
package rules

import "github.com/rollmill/rollmill/stages/plugin"

// All are the rules that curate runs, after failed and unscored members are dropped.
var All = plugin.NewRegistry("rule",
	Split,
	Leak,
	Pools,
	Stale,
	Logprobs,
	Images,
	Length,
	Duplicate,
	NearDuplicate,
	Filter,
	MinValid,
	Flat,
	ExampleLimit,
	Curriculum,
	Sample,
	Budget,
	BestOf,
	Limit,
)
