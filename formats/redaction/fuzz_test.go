package redaction

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

// samples returns the listed texts and what is found in them.
func samples() (texts, found []string) {
	for _, d := range Detectors() {
		for _, text := range listed[d[0]] {
			before, rest, _ := strings.Cut(text, "«")
			secret, after, _ := strings.Cut(rest, "»")
			texts, found = append(texts, before+secret+after), append(found, secret)
		}
	}
	return texts, found
}

// No listed key or personal data survives in any text that surrounds it; JSON
// stays JSON; the second time changes nothing.
func FuzzRedact(f *testing.F) {
	texts, found := samples()
	for i := range texts {
		f.Add(uint8(i), "a ", " b")
		f.Add(uint8(i), `{"a":["`, `"], "n": 4111111111111111}`)
	}
	for _, text := range clean {
		f.Add(uint8(0), text, text)
	}
	r := rules(f, all)
	f.Fuzz(func(t *testing.T, n uint8, before, after string) {
		i := int(n) % len(texts)
		// A separate word: a key that continues, or is a part of another one, is
		// another text.
		text := before + "\n" + texts[i] + "\n" + after
		var c, again Counts
		got := r.text(text, &c)
		if strings.Contains(got, found[i]) {
			t.Fatalf("%q leaves %q", text, got)
		}
		if twice := r.text(got, &again); again.Total() > 0 && json.Valid([]byte(got)) {
			t.Fatalf("%q, again %q: %v", got, twice, again.Found)
		}
		data, _ := json.Marshal(map[string]string{before: text})
		if got := r.text(string(data), &c); !json.Valid([]byte(got)) || strings.Contains(got, found[i]) && !strings.Contains(found[i], `\`) {
			t.Fatalf("%s becomes %s", data, got)
		}
		if out := r.text(before, &c); json.Valid([]byte(before)) && container(before) && !json.Valid([]byte(out)) {
			t.Fatalf("%s becomes %s", before, out)
		}
		row := &formats.Trajectory{Example: string(data), Messages: []formats.Message{{Content: text}, {ContentParts: before}}}
		r.Trajectory(row)
		if i < len(keys) {
			_, _ = FindKey(row)
		}
	})
}

// Whatever the rules and the JSON text, edits leave JSON.
func FuzzFields(f *testing.F) {
	f.Add("example.a", true, `{"a":1,"b":[{"a":2}]}`)
	f.Add("example.*.a", false, ` {"a" : {"a":1 } , "b":[{"a":2},3]}`)
	f.Add("example.b.*", true, `{"b":[1 , 2,3],"c":{}}`)
	f.Fuzz(func(t *testing.T, path string, remove bool, example string) {
		action := "mask"
		if remove {
			action = removes
		}
		data, _ := json.Marshal(map[string]any{"fields": []any{map[string]any{"path": path, "action": action}}})
		r, err := Load("rules.yaml", data)
		if err != nil {
			return
		}
		row := &formats.Trajectory{Example: example, Metadata: example}
		c := r.Trajectory(row)
		if json.Valid([]byte(example)) && !json.Valid([]byte(row.Example)) {
			t.Fatalf("%s becomes %s", example, row.Example)
		}
		if c.Total() == 0 && (row.Example != example || row.Metadata != example) {
			t.Fatalf("%s becomes %s, without a count", example, row.Example)
		}
		if again := r.Trajectory(row); again.Total() > 0 && !strings.Contains(path, "*") {
			t.Fatalf("%s changes again: %v", row.Example, again.Found)
		}
	})
}

// Load never panics, and loads what it loaded with the same digest.
func FuzzLoad(f *testing.F) {
	f.Add("detectors: [keys]\npatterns: [{name: a, regexp: b}]\nfields: [{path: example.a}]\nmessages: [{role: system, action: remove}]\n", "b sk-1")
	f.Add("detectors: &a [*a]", "")
	f.Add("{", "")
	f.Fuzz(func(t *testing.T, file, text string) {
		r, err := Load("rules.yaml", []byte(file))
		if err != nil {
			return
		}
		var c Counts
		r.text(text, &c)
		if again, err := Load("x", []byte(file)); err != nil || again.Digest() != r.Digest() {
			t.Fatal(err)
		}
	})
}
