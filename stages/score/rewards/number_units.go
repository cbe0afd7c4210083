package rewards

import (
	"math/big"
	"regexp"
	"strings"
)

// A quantity is a number, and its unit in the spelling of units: empty without one,
// and for a unit that units does not have.
type quantity struct {
	*big.Rat
	unit string
}

// units has for each spelling of a unit the first spelling of its line.
var units = func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(`km kilometer kilometers kilometre kilometres
m meter meters metre metres
cm centimeter centimeters centimetre centimetres
mm millimeter millimeters millimetre millimetres
ft foot feet
inch inches
mi mile miles
kg kilogram kilograms
g gram grams
mg milligram milligrams
lb lbs
oz ounce ounces
L l liter liters litre litres
mL ml milliliter milliliters millilitre millilitres
h hr hrs hour hours
min mins minute minutes
s sec secs second seconds
ms millisecond milliseconds
day days
week weeks
month months
year years
euro euros
dollar dollars
cent cents
°C
°F`) {
		names := strings.Fields(line)
		for _, name := range names {
			all[name] = names[0]
		}
	}
	return all
}()

var unitForm = regexp.MustCompile(`^\s?(°[CF]|[\pLµ]+(?:/\pL+)?)`)

// unitOf returns the unit at the beginning of a text.
func unitOf(text string) string {
	m := unitForm.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	of, per, divided := strings.Cut(m[1], "/")
	if of = units[of]; of == "" || divided && units[per] == "" {
		return ""
	}
	return of + "/" + units[per]
}
