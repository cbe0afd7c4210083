package expression_test

import (
	"testing"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/expression"
)

type environment struct {
	Answer string         `expr:"answer"`
	Fields map[string]any `expr:"fields"`
}

// What would not give the same value every time does not compile, nor what
// the environment does not have.
func TestRefused(t *testing.T) {
	for _, text := range []string{"now()", "keys(fields)", "values(fields)", "toPairs(fields)", "anser", "answer +"} {
		if _, err := expression.Compile(text, environment{}); err == nil {
			t.Errorf("%s compiles", text)
		}
	}
}

func TestReads(t *testing.T) {
	for text, want := range map[string][2]bool{
		"answer":                 {true, false},
		"fields.answer":          {false, true},
		`len(answer) > fields.n`: {true, true},
		"$env.answer":            {true, true},
		"1":                      {false, false},
	} {
		p, err := expression.Compile(text, environment{})
		if err != nil {
			t.Fatal(err)
		}
		reads := expression.Reads(p)
		if got := [2]bool{reads("answer"), reads("fields")}; got != want {
			t.Errorf("%s reads %v, want %v", text, got, want)
		}
	}
}

// A field that has another one's length is read by len, which then gives the same.
func TestLengths(t *testing.T) {
	type measured struct {
		environment
		Length int `expr:"__len_answer"`
	}
	for _, answer := range []string{"", "abc", "eight by", "0123456789é", "日本語 and more text", "\xff\xfe and no UTF-8"} {
		if n := expression.Length(answer); n != utf8.RuneCountInString(answer) {
			t.Errorf("%q has length %d", answer, n)
		}
		env := measured{environment{Answer: answer}, expression.Length(answer)}
		for _, text := range []string{"len(answer)", "len(answer) < 8 ? 1 : len(answer)", "sum(1..2, len(answer) * #)", `len(answer + "")`} {
			want, err := compile(t, text).Run(t.Context(), env.environment)
			if err != nil {
				t.Fatal(err)
			}
			p, err := expression.Compile(text, measured{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := p.Run(t.Context(), &env); err != nil || got != want {
				t.Errorf("%s of %q = %v, %v; want %v", text, answer, got, err, want)
			}
		}
	}
	p, err := expression.Compile("len(answer)", measured{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Run(t.Context(), measured{Length: 7}); err != nil || got != 7 {
		t.Errorf("len does not read the field: %v, %v", got, err)
	}
}
