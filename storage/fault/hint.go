package fault

// HintOf returns the first hint in an error's tree that is not empty: what its method Hint
// returns. It is "" if there is none.
func HintOf(err error) string {
	if h, ok := err.(interface{ Hint() string }); ok && h.Hint() != "" {
		return h.Hint()
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return HintOf(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if h := HintOf(inner); h != "" {
				return h
			}
		}
	}
	return ""
}
