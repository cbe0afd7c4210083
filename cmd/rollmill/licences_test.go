package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// licencePattern matches the names of files that must go with a copy of the program.
var licencePattern = regexp.MustCompile(`(?i)^(un)?licen[cs]e([.-].*)?$|^(copying|notice|patents)(\..*)?$`)

// chosenLicences names the file of the licence that we take, of modules that offer
// several and keep the texts elsewhere.
var chosenLicences = map[string]string{"github.com/golang/freetype": "licenses/ftl.txt"}

// TestLicences compares licences.txt with the licences of the modules that the
// program is built from, of Go and of the scripts that pages of view load. make
// docs rewrites it.
func TestLicences(t *testing.T) {
	want := licenceText(t)
	if *update {
		if err := os.WriteFile("licences.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return // the next build embeds it
	}
	if want != licences {
		t.Error("licences.txt is not that of the modules in go.mod and the scripts in pipelines/look/page/static: make docs rewrites it; look at what is new")
	}
	if code, out, _ := rollmill(t, "help", "licences"); code != 0 || out != strings.TrimSpace(want) {
		t.Errorf("help licences: exit code %d, %d bytes", code, len(out))
	}
}

// licenceText returns each different text once, after the names of what it is for.
func licenceText(t *testing.T) string {
	names := map[string][]string{}
	add := func(name, file string) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
		if strings.HasPrefix(strings.ToUpper(text), "GNU ") {
			t.Errorf("%s is under a licence that the program cannot be: %s", name, file)
		}
		if !slices.Contains(names[text], name) {
			names[text] = append(names[text], name)
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	add("The Go runtime and standard library", filepath.Join(strings.TrimSpace(string(goroot)), "LICENSE"))
	for _, script := range embeddedScripts(t) {
		add(script, "../../pipelines/look/page/static/LICENSES/"+script+".txt")
	}
	modules := builtModules(t)
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		files := modules[name]
		if len(files) == 0 {
			t.Errorf("module %s has no licence", name)
		}
		for _, f := range files {
			add(name, f)
		}
	}
	own, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Rollmill\n\n%s\n\nThe program contains the following software, under the licences below.\n", strings.TrimSpace(string(own)))
	texts := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return strings.Compare(names[a][0]+a, names[b][0]+b) })
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(names[text], "\n"), text)
	}
	return b.String()
}

// embeddedScripts returns the names of libraries in pages of view, such as htmx of
// htmx-2.0.11.min.js.
func embeddedScripts(t *testing.T) []string {
	files, err := filepath.Glob("../../pipelines/look/page/static/*.min.*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	var out []string
	for _, f := range files {
		name, _, _ := strings.Cut(filepath.Base(f), "-")
		out = append(out, name)
	}
	return slices.Compact(out)
}

// builtModules returns the licence files of each module of which a release has a
// package: those in the folders from the package up to the module's.
func builtModules(t *testing.T) map[string][]string {
	out := map[string][]string{}
	for _, system := range []string{"linux", "darwin"} {
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", ".")
		cmd.Env = append(os.Environ(), "GOOS="+system)
		data, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for dec := json.NewDecoder(strings.NewReader(string(data))); ; {
			var p struct {
				Dir    string
				Module *struct {
					Path, Dir string
					Main      bool
				}
			}
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Module == nil || p.Module.Main {
				continue
			}
			files := out[p.Module.Path]
			for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
				files = append(files, licencesIn(t, dir)...)
			}
			if chosen := chosenLicences[p.Module.Path]; chosen != "" {
				files = append(files, filepath.Join(p.Module.Dir, chosen))
			}
			slices.Sort(files)
			out[p.Module.Path] = slices.Compact(files)
		}
	}
	return out
}

var licencesKnown = map[string][]string{}

func licencesIn(t *testing.T, dir string) []string {
	if files, known := licencesKnown[dir]; known {
		return files
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if e.Type().IsRegular() && licencePattern.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	licencesKnown[dir] = out
	return out
}
