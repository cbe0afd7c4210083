package text

import (
	"fmt"
	"time"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/pipelines/look/clusters"
)

// Or returns a number in a format, or another text for null.
func Or[T any](v *T, format, null string) string {
	if v == nil {
		return null
	}
	return fmt.Sprintf(format, *v)
}

// Number returns a number with four decimals, or a dash for null.
func Number(v *float64) string { return Or(v, "%.4f", "-") }

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

// Float returns a number with four digits, "null" for null.
func Float(v *float64) string { return Or(v, "%.4g", "null") }

// Exact returns a number with six digits, "null" for null.
func Exact(v *float64) string { return Or(v, "%.6g", "null") }

// JSON returns a value as JSON.
func JSON(v any) string {
	b, err := jsontext.Append(nil, v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// Half returns the half of a band of 95 %, "" without one.
func Half(err *float64) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("±\u00a0%.4f", clusters.Z95**err)
}

// Since returns the time Since t, to the second.
func Since(t time.Time) string { return max(0, time.Since(t)).Round(time.Second).String() }
