package secret

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// Whatever the text, a secret's value is not left in it, and JSON stays valid.
// A letter written as \u0061 is not found: no program echoes a key like that.
func FuzzRedact(f *testing.F) {
	const value = "hunter2-and-more"
	for _, text := range []string{value, "x" + value + "y", `{"a":"` + value + `"}`, "hunter2%2Dand-more", "", "[redacted:KEY]", strings.Repeat(value, 3),
		"\xff" + value} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &Set{}
		if !s.Add("KEY", value) {
			t.Fatal("the value is no secret")
		}
		if got := s.Redact(string(text)); strings.Contains(got, value) {
			t.Fatalf("%q leaves %q", text, got)
		}
		got := s.JSON(bytes.Clone(text))
		if json.Valid(text) && !json.Valid(got) {
			t.Fatalf("%q is no JSON any more: %q", text, got)
		}
		var v any
		if !bytes.Contains(text, []byte(`\u`)) && json.Unmarshal(got, &v) == nil {
			if back, _ := json.Marshal(v); bytes.Contains(back, []byte(value)) {
				t.Fatalf("%q leaves %q", text, got)
			}
		}
		var out bytes.Buffer
		w := s.NewWriter(&out)
		for i := 0; i < len(text); i += 5 {
			if _, err := w.Write(text[i:min(i+5, len(text))]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || bytes.Contains(out.Bytes(), []byte(value)) {
			t.Fatalf("%q in pieces leaves %q: %v", text, out.Bytes(), err)
		}
	})
}
