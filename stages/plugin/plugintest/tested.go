package plugintest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var listedKind = regexp.MustCompile(`(?m)^\t(\w+\.)?(\w+),$`)

// Tested fails unless each of n kinds that a Go file lists, one a line as Name or
// folder.Name, is passed to its suite by a test in its folder. call is a regular
// expression of that call, with %s for the kind's name.
func Tested(t *testing.T, list string, n int, call string) {
	t.Helper()
	source, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	listed := listedKind.FindAllStringSubmatch(string(source), -1)
	if len(listed) != n {
		t.Fatalf("%s lists %d kinds in lines of their own, of %d", list, len(listed), n)
	}
	for _, m := range listed {
		files, _ := filepath.Glob(filepath.Join(strings.TrimSuffix(m[1], "."), "*_test.go"))
		found := false
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || regexp.MustCompile(fmt.Sprintf(call, m[2])).Match(text)
		}
		if !found {
			t.Errorf("no test passes %s%s to its suite", m[1], m[2])
		}
	}
}
