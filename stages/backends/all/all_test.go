package all

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/file"
)

func TestBackendsThatAreNotMade(t *testing.T) {
	if _, err := Backends.Find("artt"); err == nil || !strings.Contains(err.Error(), "artt") {
		t.Error(err)
	}
	if tr, err := file.Kind.New().Trainer(backends.Setup{}); err == nil || tr != nil {
		t.Errorf("%v, %v", tr, err)
	}
}

// TestEveryBackendConforms checks that the tests of each listed package hand its
// trainer and its Kind to the suite.
func TestEveryBackendConforms(t *testing.T) {
	source, err := os.ReadFile("all.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`(\w+)\.Kind,`).FindAllStringSubmatch(string(source), -1)
	if len(listed) != len(Backends.All()) {
		t.Fatalf("%d backends are listed in lines of their own, of %d", len(listed), len(Backends.All()))
	}
	for _, m := range listed {
		files, _ := filepath.Glob("../" + m[1] + "/*_test.go")
		all := ""
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all += string(text)
		}
		for _, call := range []string{"backendtest.Run(", "backendtest.Kind(t, " + m[1] + ".Kind,"} {
			if !strings.Contains(all, call) {
				t.Errorf("no test of package %s calls %s", m[1], call)
			}
		}
	}
}
