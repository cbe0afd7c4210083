package yamldoc

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func file() File {
	return File{Name: "a.yml", Fail: func(place, hint, what string) error {
		if hint == "" {
			what += " without a hint"
		}
		return errors.New(place + ": " + what)
	}}
}

// shown returns what a file says, with the lines of its keys.
func shown(f File, n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	entries, err := f.Entries(n)
	var out []string
	for _, p := range entries {
		value, err := shown(f, p.Value)
		if err != nil {
			return "", err
		}
		out = append(out, fmt.Sprintf("%s@%d=%s", p.Key.Value, p.Key.Line, value))
	}
	return "{" + strings.Join(out, " ") + "}", err
}

func TestFile(t *testing.T) {
	for data, want := range map[string]string{
		"":                      "{}",
		"# a\n":                 "{}",
		"---\nnull\n":           "{}",
		"{}":                    "{}",
		"a: 1\nb: {c: ~}\n":     "{a@1=1 b@2={c@2=~}}",
		"a: &x {b: 1}\nc: *x":   "{a@1={b@1=1} c@2={b@1=1}}",
		"&k a: 1\nb:\n  *k : 2": "{a@1=1 b@2={a@1=2}}",
		"a: &x {b: 1, c: 2}\nd:\n  <<: [*x, {b: 5, e: 6}]\n  c: 3": "{a@1={b@1=1 c@1=2} d@2={c@4=3 b@1=1 e@3=6}}",
		"a: {<<: {b: 1}, <<: {c: 2}, \"<<\": 3}":                   "{a@1={<<@1=3 b@1=1 c@1=2}}",

		"- a":                   "a.yml:1: not a mapping of sections",
		"\na":                   "a.yml:2: not a mapping of sections",
		"a: 1\n---\nb: 2":       "a.yml: more than one document",
		"---\n---\n":            "a.yml: more than one document",
		"a: 1\nb: [1,\nc: 2\n":  "a.yml:2: not YAML: ",
		"a: 1\nb: \"\nc: 2\n":   "a.yml:2: not YAML: ",
		"a:\n   b: 1\n  c: 2\n": "a.yml:3: not YAML: ",
		"a: 1\n- b\n":           "a.yml:2: not YAML: ",
		"a: *b\n":               "a.yml:1: not YAML: ",
		"a: \xff\n":             "a.yml:1: not YAML: ",
		"a: 1\nb: 2\na: 3\n":    `a.yml:3: "a" is already set on line 1`,
		"? [a]\n: b\n":          "a.yml:1: a key must be a word",
		"a: 1\n<<: 5\n":         "a.yml:2: a merge key takes a mapping",
		"<<: [{a: 1},\n b]\n":   "a.yml:2: a merge key takes a mapping",
		"a: &a [*a]\n":          "a.yml:1: aliases expand to too much",
		"a: &a {b: *a}\n":       "a.yml:1: aliases expand to too much",
		"&a <<: *a\n":           "a.yml:1: a merge key takes a mapping",
		"a: &a {<<: *a}\n":      "a.yml:1: aliases expand to too much",
		"a: &a [x,x,x,x,x,x,x,x,x,x]\n" + laughs("ab", "bc", "cd", "de", "ef"): "a.yml:5: aliases expand to too much",
		laughs("ab"): "a.yml:1: not YAML: ",
	} {
		f, got := file(), ""
		root, err := f.Root([]byte(data))
		if err == nil {
			got, err = shown(f, root)
		}
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) || strings.Contains(got, "without a hint") {
			t.Errorf("%q: %s, want %s", data, got, want)
		}
	}
}

// laughs returns lists of ten of the list before.
func laughs(names ...string) (out string) {
	for _, n := range names {
		out += fmt.Sprintf("%c: &%c [%s]\n", n[1], n[1], strings.TrimSuffix(strings.Repeat("*"+n[:1]+",", 10), ","))
	}
	return out
}

// A large file without aliases has no bound here.
func TestLarge(t *testing.T) {
	root, err := file().Root([]byte("a: [" + strings.Repeat("1,", 2*maxCopied) + "]"))
	if err != nil || len(root.Content[1].Content) != 2*maxCopied {
		t.Error(err)
	}
}
