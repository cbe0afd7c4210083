package jsontext

import (
	"strings"
	"testing"
)

func TestIndent(t *testing.T) {
	for text, want := range map[string]string{
		` {"a":[1,"<b>"]}`: "{\n  \"a\": [\n    1,\n    \"<b>\"\n  ]\n}",
		`{"a":`:            `{"a":`,
		`12`:               `12`,
		`  plain `:         `  plain `,
		``:                 ``,
	} {
		if got := Indent(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	for _, text := range []string{strings.Repeat("[", 5000) + strings.Repeat("]", 5000), `["` + strings.Repeat("x", maxIndented) + `"]`} {
		if Indent(text) != text {
			t.Errorf("%d bytes of %.9q were indented", len(text), text)
		}
	}
}
