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

var distribution = regexp.MustCompile(`^(normal|uniform|beta)\( *([^, ]+) *, *([^, ]+) *\)$`)

// Parse reads a distribution as "normal(0.5,0.2)"; an empty text is none.
func (d *PassRate) Parse(texts []string) error {
	const hint = "write normal(MEAN,DEVIATION), uniform(MIN,MAX) or beta(A,B), such as normal(0.5,0.2); means and limits are from 0 to 1, " +
		"a deviation is above 0, A and B are at least 1"
	text := strings.TrimSpace(strings.Join(texts, ","))
	if text == "" {
		*d = PassRate{}
		return nil
	}
	parts := distribution.FindStringSubmatch(text)
	if parts == nil {
		return Usage(hint, "curate: --plan-pass-rate %q is not a distribution", text)
	}
	a, err := strconv.ParseFloat(parts[2], 64)
	b, err2 := strconv.ParseFloat(parts[3], 64)
	valid := map[string]bool{"normal": a >= 0 && a <= 1 && b > 0, "uniform": a >= 0 && a <= b && b <= 1, "beta": a >= 1 && b >= 1}
	if err != nil || err2 != nil || math.IsInf(a+b, 0) || !valid[parts[1]] {
		return Usage(hint, "curate: --plan-pass-rate %q: a parameter is not a number, or out of range", text)
	}
	*d = PassRate{parts[1], a, b}
	return nil
}

// weight returns the logarithm of the density at a pass rate, relative to the greatest density: at
// most 0, and -Inf where the density is 0.
func (d PassRate) weight(rate float64) float64 {
	switch {
	case d.Name == "normal":
		z := (rate - d.A) / d.B
		return float64(z*z) / -2
	case d.Name == "uniform" && (rate < d.A || rate > d.B):
		return math.Inf(-1)
	case d.Name == "beta" && d.A+d.B > 2:
		mode := (d.A - 1) / (d.A + d.B - 2)
		return power(d.A-1, rate, mode) + power(d.B-1, 1-rate, 1-mode)
	}
	return 0
}

// power returns the logarithm of (x/mode)^n, which is 0 for n = 0.
func power(n, x, mode float64) float64 {
	if n == 0 {
		return 0
	}
	return float64(n * math.Log(x/mode))
}
