package page

import (
	"strings"
	"testing"
)

// marked returns a text with its marks in brackets.
func marked(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		if s.Only {
			b.WriteString("[" + s.Text + "]")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func TestCompared(t *testing.T) {
	long := strings.Repeat("same ", 2000)
	for _, c := range [][3]string{
		{"The answer is 391.", "The answer is 390.", "The answer is [391]."},
		{"a b c d", "a c x d", "a [b ]c d"},
		{"x", "", "[x]"},
		{"equal", "equal", ""},
		{"", "x", ""},
		{long + "left " + long, long + "right " + long, long + "[left] " + long},
		{strings.Repeat("one ", 50), strings.Repeat("two\n", 50), ""},
		{strings.Repeat("a b ", maxWords), strings.Repeat("c d ", maxWords), ""},
	} {
		if got := marked(Compared(c[0], c[1])); got != c[2] {
			t.Errorf("%.60q, %.60q: %.200q", c[0], c[1], got)
		}
	}
}
