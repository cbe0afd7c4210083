package settings

import "github.com/rollmill/rollmill/stages/plugin"

// Validation is the switch and the section for held-out examples.
const Validation = "validation"

// OnlyValidation declares the keys that only section validation has.
type OnlyValidation struct{ Interval int }

func (v *OnlyValidation) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.Int(&v.Interval, "interval", "default of train's --validation-interval, `N`")
}
