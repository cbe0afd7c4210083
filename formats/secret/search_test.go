package secret

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A search finds what Redact would replace, however the stream is cut.
func TestSearchFindsWhatRedactReplaces(t *testing.T) {
	s := &Set{}
	s.Add("LONG", "sk-abcdefgh/12345678")
	s.Add("WORD", "abc123")
	filler := strings.Repeat("0123456789 ", 40<<10)
	for _, text := range []string{"", "abc123", "xabc123", "abc123x", " abc123 ", "a sk-abcdefgh/12345678", `\u0073k-abcdefgh/12345678`,
		"sk-abcdefgh%2F12345678", "sk-abcdefgh/1234567", "xabc123 abc123", "abc123-", "abc12", `sk-\u0061\u0062\u0063defgh/12345678`} {
		for _, in := range []string{text, filler + text, text + filler, filler[:searched-3] + text, filler[:searched-len(text)-1] + " " + text + "x" + filler} {
			want := s.Redact(in) != in
			for how, r := range map[string]io.Reader{"whole": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in))} {
				if how != "whole" && len(in) > 1000 {
					r = iotest.HalfReader(strings.NewReader(in))
				}
				f := s.NewSearch()
				if _, err := io.Copy(f, r); err != nil {
					t.Fatal(err)
				}
				if got := f.End(); (got != "") != want {
					t.Errorf("%s, %q in %d bytes: found %q, redacted %v", how, text, len(in), got, want)
				}
			}
		}
	}
	for _, s := range []*Set{nil, {}} {
		f := s.NewSearch()
		if _, err := io.WriteString(f, "abc123"); err != nil || f.End() != "" {
			t.Error(f.End(), err)
		}
	}
}
