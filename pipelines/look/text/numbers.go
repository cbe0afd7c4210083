package text

import "fmt"

// Number returns a number with four decimals, or a dash for null.
func Number(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.4f", *v)
}

// Thousands returns a whole number with commas.
func Thousands(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Compact returns a number, in millions if it is large.
func Compact(n int64) string {
	if n < 1e7 {
		return Thousands(n)
	}
	return fmt.Sprintf("%.1f\u00a0M", float64(n)/1e6)
}
