package expression_test

import (
	"testing"

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
