package witness

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/tree"
)

// facet is something that a record may say of a message.
type facet struct {
	name   string
	shifts int // at least so many turns must say that of the next or the last one to be called shifted
	has    func(*item) bool
	same   func(a, b *item) bool
	text   func(*item) string
}

const never = math.MaxInt

// facets are those of every message. That of its text has the name of the message's sort.
var facets = []facet{
	list("roles", never, func(x *item) []string { return []string{x.Role} }, equal),
	list("tool calls", never, (*item).calls, tree.SameCall),
	list("prompt tokens", 2, func(x *item) []int32 { return known(x.call.PromptTokens) }, equal),
	list("completion tokens", 2, func(x *item) []int32 { return known(x.call.CompletionTokens) }, equal),
	list("token ids", 1, func(x *item) []int32 { return x.TokenIDs }, equal),
	list("logprobs", 1, func(x *item) []float32 { return x.Logprobs }, rounded),
	{"", never, func(*item) bool { return true }, sameText, (*item).text},
}

func list[T any](name string, shifts int, of func(*item) []T, same func(x, y T) bool) facet {
	return facet{name, shifts, func(x *item) bool { return len(of(x)) > 0 },
		func(a, b *item) bool { return slices.EqualFunc(of(a), of(b), same) },
		func(x *item) string { return strings.Trim(fmt.Sprint(of(x)), "[]") }}
}

func equal[T comparable](x, y T) bool { return x == y }

// known returns a count, of which 0 says nothing.
func known(n int32) []int32 { return []int32{n}[:max(0, min(n, 1))] }

// rounded reports whether two log probabilities may be one number that was written with four digits.
func rounded(x, y float32) bool {
	return math.Abs(float64(x)-float64(y)) <= 1e-4*max(1, math.Abs(float64(x)))
}

// calls returns what is called: the ids of calls may differ.
func (x *item) calls() (all []formats.ToolCall) {
	for _, c := range x.ToolCalls {
		all = append(all, formats.ToolCall{Name: c.Name, Arguments: c.Arguments})
	}
	return all
}

// sameText reports whether two messages say the same, whatever they call.
func sameText(a, b *item) bool {
	x, y := *a.Message, *b.Message
	y.ToolCalls = x.ToolCalls
	return tree.SameAnswer(&x, &y)
}

// differing quotes two texts from a little before the first character that differs.
func differing(a, b string) [2]string {
	const before, length = 16, 60
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n = max(0, n-before); n > 0 && !utf8.RuneStart(a[n]); n-- {
	}
	out := [2]string{a, b}
	for i, text := range out {
		if out[i] = "nothing"; text != "" {
			out[i] = strconv.Quote(strings.Repeat("…", min(n, 1)) + excerpt.Start(text[n:], length))
		}
	}
	return out
}
