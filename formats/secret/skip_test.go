package secret

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSkippingMissesNothing uses few letters, so that patterns often overlap
// and nearly match.
func TestSkippingMissesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var patterns []pattern
		shortest := 300
		for _, text := range rapid.SliceOfN(rapid.StringMatching(`[ab]{4,9}|a{250}[ab]{20}`), 1, 4).Draw(t, "patterns") {
			patterns = append(patterns, pattern{text: text})
			shortest = min(shortest, len(text))
		}
		text := rapid.StringMatching(`[abc]{0,40}`).Draw(t, "before")
		if rapid.Bool().Draw(t, "there") {
			text += rapid.SampledFrom(patterns).Draw(t, "pattern").text
		}
		text += rapid.StringMatching(`[abc]{0,20}`).Draw(t, "after")
		want := true
		for _, p := range patterns {
			want = want && !strings.Contains(text, p.text)
		}
		if got := newSkip(patterns, shortest).none(text, patterns); got != want {
			t.Fatalf("%v in %q: none=%v, want %v", patterns, text, got, want)
		}
	})
}
