package backends

// Number returns the value of a hyperparameter that is a number as YAML and JSON
// decode it, and reports whether it is one. NaN is a number: it is in no range.
func Number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
