package fault

import "errors"

// faulty is an error that knows its kind, Failed for none, and its hint, "" for none.
type faulty interface{ Fault() (Kind, string) }

// HintOf returns the first hint in an error's tree that is not empty; "" if there is none.
func HintOf(err error) (hint string) {
	walk(err, func(_ Kind, h string) bool {
		hint = h
		return h == ""
	})
	return hint
}

// KindOf returns the first kind in an error's tree that says what to do: Input only if no other
// does, since bad input may have any cause. An error of the network that says that it is
// temporary is.
func KindOf(err error) Kind {
	found := Failed
	walk(err, func(k Kind, _ string) bool {
		if k != Failed && (found == Failed || found == Input) {
			found = k
		}
		return found == Failed || found == Input
	})
	var network interface{ Temporary() bool }
	switch {
	case (found == Failed || found == Input) && errors.As(err, &network) && network.Temporary():
		return Temporary
	case found == Failed && errors.Is(err, ErrInvalid):
		return Input
	}
	return found
}

// walk calls see for each faulty error of a tree, from the outside, until it returns false.
func walk(err error, see func(Kind, string) bool) bool {
	if f, ok := err.(faulty); ok && !see(f.Fault()) {
		return false
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return walk(inner, see)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if !walk(inner, see) {
				return false
			}
		}
	}
	return true
}
