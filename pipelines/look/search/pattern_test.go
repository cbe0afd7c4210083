package search

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFolding compares the search in a text with a naive one.
func TestFolding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.SampledFrom([]rune("aAbBéÉß .")), 0, 12, -1)
		text, want := letters.Draw(t, "text"), rapid.StringOfN(rapid.SampledFrom([]rune("aAbBéÉß .")), 1, 3, -1).Draw(t, "want")
		p, err := NewPattern(want, false)
		if err != nil {
			t.Fatal(err)
		}
		_, at := p.in(text)
		naive := strings.Contains(strings.ToLower(text), strings.ToLower(want))
		if (at != nil) != naive || at != nil && !strings.EqualFold(text[at[0]:at[1]], want) {
			t.Fatalf("%v, %v", at, naive)
		}
	})
}

// FuzzIn: no text and no pattern makes a search fail, and what is found is in what is returned.
func FuzzIn(f *testing.F) {
	for _, text := range []string{`{"a":"\u00f6\ud83d"}`, `["\`, `"\"`, "[\xff\\\"", "ßİ"} {
		f.Add(text, "ö", false)
		f.Add(text, ".", true)
	}
	f.Fuzz(func(t *testing.T, text, pattern string, isRegexp bool) {
		p, err := NewPattern(pattern, isRegexp)
		if err != nil {
			return
		}
		if in, at := p.in(text); at != nil && p.re.FindStringIndex(in) == nil {
			t.Errorf("%q, %v", in, at)
		}
	})
}
