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
	name, check string
	shifts      int // of so many turns it must be that of the next or the last one to be called shifted; 0: never
	has         func(*item) bool
	same        func(a, b *item) bool
	says        func(a, b *item) [2]string
}

// facets are those of every message but its text.
var facets = []facet{
	{"roles", "witness_roles", 0, func(*item) bool { return true }, func(a, b *item) bool { return a.Role == b.Role },
		func(a, b *item) [2]string { return [2]string{a.Role, b.Role} }},
	{"tool calls", "witness_tool_calls", 0, func(x *item) bool { return len(x.ToolCalls) > 0 }, sameCalls,
		func(a, b *item) [2]string { return differing(a.calls(), b.calls()) }},
	number("prompt tokens", func(x *item) int32 { return x.call.PromptTokens }),
	number("completion tokens", func(x *item) int32 { return x.call.CompletionTokens }),
	list("token ids", "witness_ids", func(x *item) []int32 { return x.TokenIDs }, func(x, y int32) bool { return x == y }),
	list("logprobs", "witness_logprobs", func(x *item) []float32 { return x.Logprobs }, rounded),
}

func number(name string, of func(*item) int32) facet {
	return facet{name, "witness_tokens", 2, func(x *item) bool { return of(x) > 0 }, func(a, b *item) bool { return of(a) == of(b) },
		func(a, b *item) [2]string { return [2]string{fmt.Sprint(of(a)), fmt.Sprint(of(b))} }}
}

func list[T any](name, check string, of func(*item) []T, same func(x, y T) bool) facet {
	return facet{name, check, 1, func(x *item) bool { return len(of(x)) > 0 },
		func(a, b *item) bool { return slices.EqualFunc(of(a), of(b), same) },
		func(a, b *item) [2]string {
			x, y, n := of(a), of(b), 0
			for n < min(len(x), len(y)) && same(x[n], y[n]) {
				n++
			}
			return [2]string{from(x, n), from(y, n)}
		}}
}

// from says how long a list is and what it has from element n on.
func from[T any](list []T, n int) string {
	return fmt.Sprintf("%d, those from %d on are %v", len(list), n, list[n:min(len(list), n+3)])
}

// text is the facet of what a message says.
func text(sort string) facet {
	check := map[string]string{results: "witness_results", prompts: "witness_prompts", systems: "witness_prompts"}[sort]
	if check == "" {
		check = "witness_answers"
	}
	return facet{sort, check, 0, func(*item) bool { return true }, func(a, b *item) bool {
		x, y := *a.Message, *b.Message
		y.ToolCalls = x.ToolCalls
		return tree.SameAnswer(&x, &y)
	}, func(a, b *item) [2]string { return differing(a.text(), b.text()) }}
}

func sameCalls(a, b *item) bool {
	return slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(x, y formats.ToolCall) bool {
		x.ID, y.ID = "", ""
		return tree.SameCall(x, y)
	})
}

func (x *item) calls() string {
	var all []string
	for _, c := range x.ToolCalls {
		all = append(all, c.Name+" "+c.Arguments)
	}
	return strings.Join(all, ", ")
}

// rounded reports whether two log probabilities may be one number that was written with four digits.
func rounded(x, y float32) bool {
	return math.Abs(float64(x)-float64(y)) <= 1e-4*max(1, math.Abs(float64(x)))
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
	quote := func(text string) string {
		return strconv.Quote(strings.Repeat("…", min(n, 1)) + excerpt.Start(text[n:], length))
	}
	return [2]string{quote(a), quote(b)}
}
