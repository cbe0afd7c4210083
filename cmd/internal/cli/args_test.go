package cli

import (
	"strings"
	"testing"
)

func TestFlagsAfterArguments(t *testing.T) {
	for _, c := range []struct{ given, parsed string }{
		{"explain 3f8a --json --in runs/demo", "explain --json --in runs/demo -- 3f8a"},
		{"explain --in runs/demo --json 3f8a", "explain --in runs/demo --json -- 3f8a"},
		{"explain --in=runs/demo 3f8a --json", "explain --in=runs/demo --json -- 3f8a"},
		{"explain --in - 3f8a", "explain --in - -- 3f8a"},
		{"explain --in runs -- -odd-id --json", "explain --in runs -- -odd-id --json"},
		{"--quiet --log-level warn job list --in runs", "--quiet --log-level warn job list --in runs --"},
		{"job --in runs wait --rows 2", "job wait --in runs --rows 2 --"},
		{"job list --help", "job list --help"},
		{"job --rows 2 list --help --in runs", "job list --rows 2 --in runs --help"},
		{"mix dry runs --json", "mix dry --json -- runs"},
		{"mix --json dry runs", "mix dry --json -- runs"},
		{"mix dry runs --help", "mix dry --help"},
		{"show runs/demo --rows 2", "show --rows 2 -- runs/demo"},
		{"grind --in a b --json", "grind --in a b --json"}, // takes no words
		{"explain 3f8a --in", "explain --in"},              // the value is missing, and the flag is the one to blame
		{"help job", "help job"},
		{"--version", "--version"},
	} {
		got := sample().argsLast(append([]string{"rollmill"}, strings.Fields(c.given)...))
		if text := strings.Join(got[1:], " "); text != c.parsed {
			t.Errorf("%s: %s, want %s", c.given, text, c.parsed)
		}
	}
}
