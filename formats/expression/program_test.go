package expression_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/expression"
)

func compile(t *testing.T, text string) *expression.Program {
	t.Helper()
	p, err := expression.Compile(text, environment{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const nested = "sum(fields.list, sum(fields.list, sum(fields.list, #)))"

// long is data with a list of many elements.
func long() map[string]any {
	list := make([]any, 5000)
	for i := range list {
		list[i] = i
	}
	return map[string]any{"list": list}
}

// An expression that would run for hours or fill the memory is a failure of its
// row, and says so.
func TestAnExpressionOverItsBudgetFails(t *testing.T) {
	for _, text := range []string{
		nested,
		"len(filter(fields.list, any(fields.list, any(fields.list, # < 0))))",
		`len(reduce(1..60, #acc + #acc, "x"))`,
		`len(replace(answer, "", answer))`,
	} {
		_, err := compile(t, text).Run(t.Context(), environment{Answer: strings.Repeat("x", 1<<20), Fields: long()})
		if !errors.Is(err, expression.ErrOverBudget) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAnExpressionEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("terminated")
	time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
	began := time.Now()
	_, err := compile(t, nested).Run(ctx, environment{Fields: long()})
	if !errors.Is(err, cause) || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// Counting changes no value, whatever functions take conditions.
func TestCountingChangesNoValue(t *testing.T) {
	env := environment{Answer: "a b c", Fields: map[string]any{"list": []any{3, 1, 2}, "n": 2}}
	for text, want := range map[string]any{
		"sum(1..10)":                                     55,
		"sum(1..4, # * #)":                               30,
		"sum(filter(fields.list, # > 1))":                5,
		"map(1..3, # + 1)[2]":                            4,
		"all(1..3, # > 0) && any(1..3, # == 2)":          true,
		"none(1..3, # > 3)":                              true,
		"one(1..3, # > 2)":                               true,
		"count(1..10, # % 2 == 0)":                       5,
		"find(1..10, # > 3)":                             4,
		"findIndex(1..10, # > 3)":                        3,
		"findLast(1..10, # < 3)":                         2,
		"reduce(1..4, #acc + #, 0)":                      10,
		"reduce(1..4, #acc * #)":                         24,
		`join(map(split(answer, " "), upper(#)), "")`:    "ABC",
		`replace(answer, " ", "")`:                       "abc",
		`replace(answer, " ", "", 1)`:                    "ab c",
		`len(groupBy(1..10, # % 3))`:                     3,
		`sortBy([3, 1, 2], #)[0]`:                        1,
		`sum(1..3, sum(1..3, #))`:                        18,
		`let x = filter(1..3, # > 1); len(x)`:            2,
		`(fields.none ?? 1) + len(answer)`:               6,
		`filter(1..100, # > 50)[0]`:                      51,
		`len(filter(1..100, # > 50)) > 0 ? "yes" : "no"`: "yes",
		`any([{"a": 1}, {"a": 2}], .a == 2)`:             true,
	} {
		got, err := compile(t, text).Run(t.Context(), env)
		if err != nil || got != want {
			t.Errorf("%s = %v (%T), %v; want %v", text, got, got, err, want)
		}
	}
}

func TestProgramsAreForManyGoroutines(t *testing.T) {
	p := compile(t, "sum(1..1000, # % 7)")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if v, err := p.Run(t.Context(), environment{}); err != nil || v != 3003 {
					t.Error(v, err)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkRun(b *testing.B) {
	p, err := expression.Compile(`len(split(answer, " ")) + count(1..20, # % 2 == 0)`, environment{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Run(b.Context(), environment{Answer: "a b c"}); err != nil {
			b.Fatal(err)
		}
	}
}
