package all

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/backends/finetune"
	"github.com/rollmill/rollmill/stages/backends/hub"
)

func TestEveryBackendIsMade(t *testing.T) {
	place := file.Place{
		URI:   "mem://out",
		Begin: func(context.Context) (file.Draft, error) { return nil, nil },
		Read:  func(context.Context, string) ([]byte, error) { return nil, nil },
	}
	seen := map[string]bool{}
	for _, b := range List {
		tr, err := New(b.Name, Config{Place: place, Command: command.Config{Words: []string{"trainer"}}, OpenAI: finetune.Config{Model: "m"},
			Customizer: customizer.Config{EntityURL: "http://nemo.test", DatastoreURL: "http://data-store.test", Config: "meta/m@v1"}, Hub: hub.Config{Repo: "acme/rollouts"}})
		if err != nil || tr.Target().Backend != b.Name || seen[b.Name] || b.Help == "" {
			t.Errorf("%s: %v", b.Name, err)
		}
		seen[b.Name] = true
	}
	if _, err := New("artt", Config{}); err == nil || !strings.Contains(err.Error(), "known: art, openai, customizer, hub, file") {
		t.Error(err)
	}
	if tr, err := New("file", Config{}); err == nil || tr != nil {
		t.Errorf("%v, %v", tr, err)
	}
}

// TestEveryBackendConforms: the package of each that is listed hands its
// trainer to the suite.
func TestEveryBackendConforms(t *testing.T) {
	source, err := os.ReadFile("all.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`trainer\((\w+)\.New\(`).FindAllStringSubmatch(string(source), -1)
	if len(listed) != len(List) {
		t.Fatalf("%d backends are listed in lines of their own, of %d", len(listed), len(List))
	}
	for _, m := range listed {
		files, _ := filepath.Glob("../" + m[1] + "/*_test.go")
		tried := false
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			tried = tried || strings.Contains(string(text), "backendtest.Run(")
		}
		if !tried {
			t.Errorf("no test of package %s hands its trainer to backendtest.Run", m[1])
		}
	}
}
