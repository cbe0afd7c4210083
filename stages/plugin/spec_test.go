package plugin_test

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
)

// arguments are what a spec may say, as --reward's kinds declare it.
type arguments struct {
	Mode, Space string
	At          int
	Text        *string
}

func (a *arguments) Declare(d *plugin.Declarer) {
	plugin.Choice(d, &a.Mode, "mode", "match in this `MODE`", "exact", "regexp").FirstInSpec()
	plugin.Choice(d, &a.Space, "space", "`HOW` to treat white space", "keep", "trim")
	d.Int(&a.At, "at", "begin at `N`").Min(3)
	d.OptionalString(&a.Text, "text", "compare with this `TEXT`").LastInSpec()
}

func TestParse(t *testing.T) {
	text := func(s string) *string { return &s }
	for source, want := range map[string]arguments{
		"":                            {},
		"exact":                       {Mode: "exact"},
		" exact , at= 3":              {Mode: "exact", At: 3},
		"at=3,space=trim":             {Space: "trim", At: 3},
		"regexp,at=3,text= a, at=4 b": {Mode: "regexp", At: 3, Text: text(" a, at=4 b")},
		"text=":                       {Text: text("")},
		"at=3,mode=exact":             {Mode: "exact", At: 3},
	} {
		var got arguments
		if err := plugin.Parse(&got, source); err != nil {
			t.Errorf("%q: %v", source, err)
		}
		if (got.Text == nil) != (want.Text == nil) || got.Text != nil && *got.Text != *want.Text {
			t.Errorf("%q has the text %v", source, got.Text)
		}
		if got.Text, want.Text = nil, nil; got != want {
			t.Errorf("%q is read as %+v, want %+v", source, got, want)
		}
	}
	for source, want := range map[string]string{
		"exakt":          `"exakt" is not one of exact, regexp`,
		"exact,mode=a":   "mode is given twice",
		"exact,at=3,b":   `"b" is not one of the options space, at, text`,
		"at=3,at=4":      "at is given twice",
		"at=2":           "at=2: 2 is too small",
		"at=one":         "at=one: it is not a whole number",
		"exact,space=no": `space=no: "no" is not one of keep, trim`,
	} {
		if err := plugin.Parse(&arguments{}, source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not mention %q", source, err, want)
		}
	}
}

// FuzzParse: each option has a value that was given, and text what follows it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"exact", "exact,at=1,text=a,b", "at=1,at=2", "text=", ",,", "a b, at = x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		var a arguments
		if err := plugin.Parse(&a, source); err != nil {
			return
		}
		if a.Text != nil && !strings.HasSuffix(strings.TrimSpace(source), "text="+*a.Text) {
			t.Fatalf("%q has the text %q", source, *a.Text)
		}
		for _, s := range plugin.Declared(&a) {
			if text, ok := s.Value().(string); ok && !strings.Contains(source, text) {
				t.Fatalf("%q has the option %s: %q", source, s.Name, text)
			}
		}
	})
}
