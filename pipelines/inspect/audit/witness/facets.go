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
	text        func(*item) string
}

// facets are those of every message but its text.
var facets = []facet{
	{"roles", "witness_roles", 0, func(*item) bool { return true }, func(a, b *item) bool { return a.Role == b.Role },
		func(x *item) string { return x.Role }},
	{"tool calls", "witness_tool_calls", 0, func(x *item) bool { return len(x.ToolCalls) > 0 }, sameCalls, (*item).calls},
	number("prompt tokens", func(x *item) int32 { return x.call.PromptTokens }),
	number("completion tokens", func(x *item) int32 { return x.call.CompletionTokens }),
	list("token ids", "witness_ids", func(x *item) []int32 { return x.TokenIDs }, func(x, y int32) bool { return x == y }),
	list("logprobs", "witness_logprobs", func(x *item) []float32 { return x.Logprobs }, rounded),
}

func number(name string, of func(*item) int32) facet {
	return facet{name, "witness_tokens", 2, func(x *item) bool { return of(x) > 0 }, func(a, b *item) bool { return of(a) == of(b) },
		func(x *item) string { return fmt.Sprint(of(x)) }}
}

func list[T any](name, check string, of func(*item) []T, same func(x, y T) bool) facet {
	return facet{name, check, 1, func(x *item) bool { return len(of(x)) > 0 },
		func(a, b *item) bool { return slices.EqualFunc(of(a), of(b), same) },
		func(x *item) string { return fmt.Sprint(len(of(x)), ": ", of(x)) }}
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
	}, (*item).text}
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
		if text == "" {
			return "nothing"
		}
		return strconv.Quote(strings.Repeat("…", min(n, 1)) + excerpt.Start(text[n:], length))
	}
	return [2]string{quote(a), quote(b)}
}
