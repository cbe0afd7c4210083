package settings

import (
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// The headings of the list of commands.
const (
	StagesHeading  = "Stages"
	BeginHeading   = "Begin"
	LookHeading    = "Look"
	MeasureHeading = "Measure"
	DataHeading    = "Data"
	KeepHeading    = "Keep"
)

// Validation is the switch and the section for held-out examples.
const Validation = "validation"

// OnlyValidation declares the keys that only section validation has.
type OnlyValidation struct{ Interval int }

func (v *OnlyValidation) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.Int(&v.Interval, "interval", "default of train's --validation-interval, `N`").Min(0)
}

// Joined returns the values of a closed set, separated by commas.
func Joined[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
