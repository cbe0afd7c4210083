// Package all lists curate's rules in the order they run. To add one: a
// folder beside this one, a line here, its reasons in formats.DropReasons,
// and a test that calls ruletest.Run.
package all

import (
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/curriculum"
	"github.com/rollmill/rollmill/stages/curate/rules/flat"
	"github.com/rollmill/rollmill/stages/curate/rules/minvalid"
)

// Rules is what curate runs, after failed and unscored members are out.
var Rules = curate.NewRegistry(
	minvalid.Kind,
	flat.Kind,
	curriculum.Kind,
)
