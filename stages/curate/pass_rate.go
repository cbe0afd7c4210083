package curate

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// PassRate is the distribution of pass rates by which examples are drawn.
type PassRate struct {
	Name string  `json:"distribution"` // normal, uniform or beta; "" for none
	A    float64 `json:"a"`            // the mean, the least, or the first parameter
	B    float64 `json:"b"`            // the standard deviation, the greatest, or the second
}

var distribution = regexp.MustCompile(`^\s*(normal|uniform|beta)\(([^,]+),([^,]+)\)\s*$`)

// Parse reads a distribution as "normal(0.5,0.2)"; an empty text is none.
func (d *PassRate) Parse(texts []string) error {
	const hint = "write normal(MEAN,DEVIATION), uniform(MIN,MAX) or beta(A,B), such as normal(0.5,0.2); pass rates are from 0 to 1"
	text := strings.Join(texts, ",")
	if text == "" {
		*d = PassRate{}
		return nil
	}
	parts := distribution.FindStringSubmatch(text)
	if parts == nil {
		return Usage(hint, "curate: --plan-pass-rate %q is not a distribution", text)
	}
	a, err := strconv.ParseFloat(strings.TrimSpace(parts[2]), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSpace(parts[3]), 64)
	if err != nil || err2 != nil || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return Usage(hint, "curate: --plan-pass-rate %q: its parameters are not numbers", text)
	}
	share, valid := func(x float64) bool { return x >= 0 && x <= 1 }, false
	switch parts[1] {
	case "normal":
		valid = share(a) && b > 0
	case "uniform":
		valid = share(a) && share(b) && a <= b
	case "beta":
		valid = a >= 1 && b >= 1 // or else its density has no maximum
	}
	if !valid {
		return Usage(hint+"; a deviation is above 0, A and B are at least 1", "curate: --plan-pass-rate %q: its parameters are out of range", text)
	}
	*d = PassRate{parts[1], a, b}
	return nil
}

// weight returns the logarithm of the density at a pass rate, relative to the
// greatest density: at most 0, and -Inf where the density is 0.
func (d PassRate) weight(rate float64) float64 {
	switch d.Name {
	case "normal":
		z := (rate - d.A) / d.B
		return float64(z*z) / -2
	case "uniform":
		if rate < d.A || rate > d.B {
			return math.Inf(-1)
		}
	case "beta":
		mode := 0.5
		if d.A+d.B > 2 {
			mode = (d.A - 1) / (d.A + d.B - 2)
		}
		return d.beta(rate) - d.beta(mode)
	}
	return 0
}

// beta returns the logarithm of the density but for a constant.
func (d PassRate) beta(rate float64) (sum float64) {
	if d.A > 1 {
		sum += float64((d.A - 1) * math.Log(rate))
	}
	if d.B > 1 {
		sum += float64((d.B - 1) * math.Log1p(-rate))
	}
	return sum
}
