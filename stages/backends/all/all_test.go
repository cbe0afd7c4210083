package all

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
)

func TestEveryBackendIsMade(t *testing.T) {
	place := backends.Place{
		URI:   "mem://out",
		Begin: func(context.Context) (backends.Draft, error) { return nil, nil },
		Read:  func(context.Context, string) ([]byte, error) { return nil, nil },
	}
	needed := map[string]map[string]string{
		"command":    {"trainer": "trainer"},
		"openai":     {"base-model": "m"},
		"customizer": {"entity-url": "http://nemo.test", "datastore-url": "http://data-store.test", "customization-config": "meta/m@v1"},
		"hub":        {"repository": "acme/rollouts"},
	}
	for _, k := range Backends.All() {
		settings := k.New()
		for _, s := range plugin.Declared(settings) {
			if text, ok := needed[k.Name][s.Name]; ok {
				if err := s.Set(text); err != nil {
					t.Errorf("%s: %v", k.Name, err)
				}
			}
		}
		tr, err := settings.Trainer(backends.Setup{Place: place})
		if err != nil || tr.Target().Backend != k.Name || k.Help == "" {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
	if _, err := Backends.Find("artt"); err == nil || !strings.Contains(err.Error(), "artt") {
		t.Error(err)
	}
	if tr, err := file.Kind.New().Trainer(backends.Setup{}); err == nil || tr != nil {
		t.Errorf("%v, %v", tr, err)
	}
}

// TestSettings holds the settings of every backend to what all settings must.
func TestSettings(t *testing.T) {
	for _, k := range Backends.All() {
		t.Run(k.Name, func(t *testing.T) { plugintest.Settings(t, func() plugin.Settings { return k.New() }) })
	}
}

// TestEveryBackendConforms: the package of each that is listed hands its
// trainer to the suite.
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
