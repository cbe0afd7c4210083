package excerpt

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExcerpts(t *testing.T) {
	for _, x := range []struct {
		text       string
		n          int
		start, end string
	}{
		{"", 3, "", ""},
		{"abc", 3, "abc", "abc"},
		{"äöü", 3, "äöü", "äöü"},
		{"abcd", 3, "ab…", "…cd"},
		{"äöüß", 3, "äö…", "…üß"},
		{"a\xffcd", 3, "a\xff…", "…cd"},
		{"abcd", 1, "…", "…"},
	} {
		if got := Start(x.text, x.n); got != x.start || utf8.RuneCountInString(got) > x.n {
			t.Errorf("Start(%q, %d) = %q, want %q", x.text, x.n, got, x.start)
		}
		if got := End(x.text, x.n); got != x.end || utf8.RuneCountInString(got) > x.n {
			t.Errorf("End(%q, %d) = %q, want %q", x.text, x.n, got, x.end)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, x := range []struct {
		text         string
		width, first int
		lines        []string
	}{
		{"", 3, 3, []string{""}},
		{"a bc  d", 4, 4, []string{"a bc", "d"}},
		{"ä bc d", 4, 2, []string{"ä", "bc d"}},
		{"a longest b", 3, 3, []string{"a", "longest", "b"}},
	} {
		if got := Wrap(strings.Fields(x.text), x.width, x.first); !slices.Equal(got, x.lines) {
			t.Errorf("Wrap(%q, %d, %d) = %q, want %q", x.text, x.width, x.first, got, x.lines)
		}
	}
}
