package rewards

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

type MatchSettings struct {
	Mode      string
	Field     string  // of the example
	Text      *string // a literal reference instead
	Case      string
	Space     string
	Tolerance tolerance
}

// The ways to match.
const (
	matchExact = "exact"
	contains   = "contains"
	pattern    = "regexp"
	number     = "number"
)

var matchModes = []string{matchExact, contains, pattern, number}

// Handling of case and white space.
const (
	keep   = "keep"
	ignore = "ignore"
	trim   = "trim"
	fold   = "fold"
)

func (s *MatchSettings) Declare(d *plugin.Declarer) {
	plugin.Choice(d, &s.Mode, "mode", "match in this `MODE`: exact, contains, regexp, or number: "+
		"the one in the answer's last \\boxed{}, or the last one in its text, with the reference's only number",
		matchModes...).FirstInSpec()
	d.String(&s.Field, "field", "take the reference from this `FIELD` of the example; a list holds alternatives")
	plugin.Choice(d, &s.Case, "case", "compare case in this `WAY`: keep or ignore it", keep, ignore)
	plugin.Choice(d, &s.Space, "space",
		"compare white space in this `WAY`: keep it, trim both ends, or fold each run into one space", keep, trim, fold)
	plugin.Var(d, &s.Tolerance, "tolerance",
		"accept numbers that differ by at most this `NUMBER`, or by this share of the reference if it ends in %").
		DefaultShown("1e-6, or 1e-6 of a reference below 1")
	d.OptionalString(&s.Text, "text",
		"compare with this `TEXT` in place of a field; it must be last, and may contain commas").LastInSpec()
}

// tolerance is the largest accepted difference of numbers.
type tolerance struct {
	n        float64
	relative bool // n is a share of the reference
	initial  bool // n is a share of references below 1
}

// Parse reads a number such as 0.01 or 1%.
func (t *tolerance) Parse(texts []string) error {
	text, percent := strings.CutSuffix(texts[0], "%")
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 0) {
		return fmt.Errorf("%q is not a number such as 0.01 or 1%%", texts[0])
	}
	if percent {
		n /= 100
	}
	*t = tolerance{n: n, relative: percent}
	return nil
}
