package main

import "github.com/rollmill/rollmill/stages/plugin"

// validation is the switch and the section for held-out examples.
const validation = "validation"

// validationSettings declares the keys that only section validation has.
type validationSettings struct{ Interval int }

func (v *validationSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.Int(&v.Interval, "interval", "default of train's --validation-interval, `N`")
}
