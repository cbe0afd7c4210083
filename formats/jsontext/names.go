package jsontext

import (
	"maps"
	"regexp"
	"strings"
	"sync/atomic"
)

// Words returns the words of a member's name in small letters.
func Words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(camel.ReplaceAllString(name, "${1}_${2}")), func(r rune) bool {
		return strings.ContainsRune("_-. ", r)
	})
}

var camel = regexp.MustCompile(`([a-z])([A-Z])`)

// Names remembers what is found out about names, of which there are few. It is safe for
// concurrent use.
type Names[T any] struct {
	of    func(name string) T
	known atomic.Pointer[map[string]T]
}

// NewNames returns what of says of names. It must not keep them.
func NewNames[T any](of func(name string) T) *Names[T] {
	n := &Names[T]{of: of}
	n.known.Store(&map[string]T{})
	return n
}

// Of returns what is found out about a name.
func (n *Names[T]) Of(name string) T {
	known := n.known.Load()
	if x, is := (*known)[name]; is {
		return x
	}
	x := n.of(name)
	const most, longest = 1000, 64 // names and bytes that are remembered
	if len(*known) < most && len(name) <= longest {
		more := maps.Clone(*known)
		more[strings.Clone(name)] = x
		n.known.CompareAndSwap(known, &more) // if another name came first, this one is looked at again
	}
	return x
}
