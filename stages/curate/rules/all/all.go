// Package all lists curate's rules in the order they run: first every rule's
// judgement of groups, then every rule's judgement of the members of the
// remaining groups, both in this order. To add one: a neighbouring folder, a
// line here, its reasons in formats.DropReasons, and a test that calls
// ruletest.Run.
package all

import (
	"github.com/rollmill/rollmill/stages/curate/rules/budget"
	"github.com/rollmill/rollmill/stages/curate/rules/curriculum"
	"github.com/rollmill/rollmill/stages/curate/rules/duplicate"
	"github.com/rollmill/rollmill/stages/curate/rules/filter"
	"github.com/rollmill/rollmill/stages/curate/rules/flat"
	"github.com/rollmill/rollmill/stages/curate/rules/images"
	"github.com/rollmill/rollmill/stages/curate/rules/leak"
	"github.com/rollmill/rollmill/stages/curate/rules/length"
	"github.com/rollmill/rollmill/stages/curate/rules/limit"
	"github.com/rollmill/rollmill/stages/curate/rules/logprobs"
	"github.com/rollmill/rollmill/stages/curate/rules/minvalid"
	"github.com/rollmill/rollmill/stages/curate/rules/neardup"
	"github.com/rollmill/rollmill/stages/curate/rules/pools"
	"github.com/rollmill/rollmill/stages/curate/rules/sample"
	"github.com/rollmill/rollmill/stages/curate/rules/split"
	"github.com/rollmill/rollmill/stages/curate/rules/stale"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Rules are the rules that curate runs, after failed and unscored members are
// dropped.
var Rules = plugin.NewRegistry("rule",
	split.Kind,
	leak.Kind,
	pools.Kind,
	stale.Kind,
	logprobs.Kind,
	images.Kind,
	length.Kind,
	duplicate.Kind,
	neardup.Kind,
	filter.Kind,
	minvalid.Kind,
	flat.Kind,
	limit.Example,
	curriculum.Kind,
	sample.Kind,
	budget.Kind,
	limit.Best,
	limit.Any,
)
