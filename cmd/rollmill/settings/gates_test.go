package settings

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	gateMade = regexp.MustCompile(`\bmanifest\.Gate\{+Name: ("[^"]+"|\w+)`)
	constant = regexp.MustCompile(`(?m)^(?:const |\t)(\w+) += ("[^"]+")$`)
)

// TestGates: the gates that may be accepted are those that the source makes.
func TestGates(t *testing.T) {
	made := map[string]bool{}
	for _, root := range []string{"../../../stages", "../../../pipelines", "../../../cmd", "../../../formats"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range gateMade.FindAllStringSubmatch(string(text), -1) {
				name := m[1]
				for _, c := range constant.FindAllStringSubmatch(string(text), -1) {
					if c[1] == name {
						name = c[2]
					}
				}
				made[strings.Trim(name, `"`)] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range made {
		if !slices.Contains(gates, name) {
			t.Errorf("gate %s cannot be accepted", name)
		}
	}
	for _, name := range gates {
		if !made[name] {
			t.Errorf("no stage has a gate %s", name)
		}
	}
}
