package submit_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestForgedManifestIsRefused: one changed digit of the rows digest would be
// another key, and train the batch again; another number of rows would send
// less, or nothing.
func TestForgedManifestIsRefused(t *testing.T) {
	digest := regexp.MustCompile(`("rows_digest": ?"[^"]*)([0-9a-f])"`)
	rows := regexp.MustCompile(`("rows": ?)12\b`)
	for name, lie := range map[string]func(string) string{
		"digest": func(s string) string {
			return digest.ReplaceAllStringFunc(s, func(m string) string {
				last := m[len(m)-2]
				other := "0"
				if last == '0' {
					other = "1"
				}
				return m[:len(m)-2] + other + `"`
			})
		},
		"one more": func(s string) string { return replaceFirst(rows, s, "${1}13") },
		"one less": func(s string) string { return replaceFirst(rows, s, "${1}11") },
		"none":     func(s string) string { return replaceFirst(rows, s, "${1}0") },
	} {
		t.Run(name, func(t *testing.T) {
			server, place := place(t, arttest.Faults{})
			o := options(t, place)
			completes(t, o)
			path := filepath.Join(place.In, "_dataset.json")
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			bad := lie(string(good))
			if bad == string(good) {
				t.Fatalf("nothing was changed:\n%s", good)
			}
			if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
				t.Fatal(err)
			}
			o.Out, o.Run, o.MaxStaleness = t.TempDir(), "another", 9
			o.Receipt = bucket(t, o.Out)
			result, err := submit.Run(t.Context(), o)
			if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "manifest") && !strings.Contains(err.Error(), "_dataset.json") ||
				server.Jobs() != 1 {
				t.Errorf("%v, %+v, %d jobs", err, result.Receipt, server.Jobs())
			}
		})
	}
}

func replaceFirst(re *regexp.Regexp, s, with string) string {
	at := re.FindStringIndex(s)
	if at == nil {
		return s
	}
	return s[:at[0]] + re.ReplaceAllString(s[at[0]:at[1]], with) + s[at[1]:]
}
