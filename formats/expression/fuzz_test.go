package expression

import (
	"testing"
)

// Whatever an expression is, it compiles to a program whose run ends in a
// value or an error.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{"reward > 0.5", "len(answer) < 100", "example.gold == answer", "sum(map(1..9, # * #))", "answer matches '('", "1..1e9",
		"((((", "let x = 1; x", "reward ?? 0", "-" + "9223372036854775808"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		env := map[string]any{"reward": 0.5, "answer": "42", "example": map[string]any{"gold": "42"}}
		p, err := Compile(text, env)
		if err != nil {
			return
		}
		_ = Reads(p)("answer")
		if len(text) < 40 { // a long one may count for long
			_, _ = p.Run(t.Context(), env)
		}
	})
}
