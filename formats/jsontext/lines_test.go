package jsontext

import "testing"

func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		`{"path":"a.py","content":"def f():\n\treturn \"x\"\n","n":1}`: "{\n  \"path\": \"a.py\",\n  \"content\":\n  │ def f():\n  │ \treturn \"x\"\n  │ \n  \"n\": 1\n}",
		`["one\ntwo", "a\\nb"]`:      "[\n  │ one\n  │ two\n  \"a\\\\nb\"\n]",
		`{"a\nb":{"c":"│ d"}}`:       "{\n  \"a\\nb\": {\n    \"c\": \"│ d\"\n  }\n}",
		`print("a\nb")`:              `print("a\nb")`,
		"{\n  \"a\": \"b\\nc\" oops": "{\n  \"a\": \"b\\nc\" oops",
		`{"a":1}`:                    "{\n  \"a\": 1\n}",
	} {
		if got := Lines(text); got != want {
			t.Errorf("%q:\n%s\nnot\n%s", text, got, want)
		}
	}
}
