package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const module = "github.com/rollmill/rollmill"

// everyFloor is what every package may import besides its row of layers.
const everyFloor = `storage/fault storage/regular storage/scratch`

// layers lists the packages that each package may import. The first row that matches
// counts, so the more specific rows come first. A row holds patterns, separated by
// spaces, of whole paths below the module:
//
//	formats/arrow        this package
//	stages/*             any package one level below stages
//	formats/...          formats and every package below it
//	-formats/dataset/... without these, which an earlier pattern of the row includes
//	{x}                  the second element of the importing package's path
//
// After moving a package, change its path in each row that names it. A new package needs
// a row only where no pattern is true for it.
var layers = []struct{ packages, may string }{
	{`storage/...`, `storage/...`},
	{`formats/outcomes formats/receipts formats/training`, ``},
	{`formats/decision formats/schema`, `formats/outcomes formats/training formats/decision`},
	{`formats`, `formats/outcomes formats/training formats/schema`},
	{`formats/dataset/...`, `formats/... storage`},
	{`formats/foreign/...`, `formats/... -formats/dataset/...`},
	{`formats/parquet/layout`, `formats formats/schema`},
	{`formats/parquet/page`, `formats formats/parquet/layout`},
	{`formats/parquet/reader`, `formats formats/schema formats/jsontext formats/parquet/page formats/parquet/layout`},
	{`formats/...`, `formats/... -formats/dataset/... -formats/foreign/...`},
	{`stages`, `formats formats/decision formats/receipts`},
	{`stages/plugin/...`, `stages stages/plugin`},
	{`stages/internal/...`, `stages stages/internal/... formats/* -formats/dataset -formats/foreign`},
	{`stages/backends/...`, `stages stages/plugin/... stages/internal/... stages/backends/... formats/... -formats/dataset/...`},
	{`stages/submit/...`, `stages stages/plugin/... stages/internal/... stages/submit/... stages/backends formats/...`},
	{`stages/{x}/...`, `stages stages/plugin/... stages/internal/... stages/{x}/... formats/...`},
	{`pipelines/train pipelines/eval pipelines/make`, `stages stages/* stages/rollout/planning stages/rollout/watch pipelines/run pipelines/report pipelines/look/... formats/... storage`},
	{`pipelines/prove`, `stages stages/* pipelines/run pipelines/convert pipelines/look/find formats/... storage`},
	{`pipelines/convert pipelines/natconfig pipelines/starter`, `stages stages/plugin formats/... storage`},
	{`pipelines/look/text`, `formats/jsontext formats/plural pipelines/look/clusters`},
	{`pipelines/look/...`, `pipelines/run pipelines/look/... formats/... storage`},
	{`pipelines/inspect/audit pipelines/report`, `pipelines/run pipelines/look/... formats/... storage`},
	{`pipelines/...`, `pipelines/{x} pipelines/run formats/... storage`},
	{`cmd/internal/began cmd/tictactoe cmd/rollmill/systemtest`, ``},
	{`cmd/internal/monitors/mlflow`, `cmd/internal/monitors stages stages/plugin stages/backends/mlflow`},
	{`cmd/internal/monitors/...`, `cmd/internal/monitors/... stages stages/plugin`},
	{`cmd/internal/terminal`, `stages formats/secret formats/plural`},
	{`cmd/internal/cli/...`, `cmd/internal/... stages stages/plugin formats formats/* -formats/foreign formats/dataset/manifest formats/dataset/storetime storage`},
	{`cmd/rollmill/...`, `cmd/... pipelines/... stages/... formats/... storage/...`},
}

// homes lists the packages that may import each outside library, in the same patterns.
// Libraries that are not listed may be imported anywhere.
var homes = []struct{ library, home string }{
	{`github.com/parquet-go/parquet-go/...`, `formats/parquet/...`},
	{`github.com/apache/arrow-go/v18/parquet/...`, `formats/arrow/arrowtest`}, // 30 MB of code, for tests
	{`github.com/apache/arrow-go/...`, `formats/arrow/...`},
	{`gocloud.dev/...`, `storage/...`},
	{`github.com/cenkalti/backoff/...`, `storage/fault`},
	{`github.com/sashabaranov/go-openai/...`, `stages/backends/openai/...`},
	{`github.com/urfave/cli/...`, `cmd/internal/cli/...`},
	{`google.golang.org/protobuf/...`, `formats/foreign/otel stages/rollout/tracing cmd/internal/monitors/tensorboard`}, // the wire format only: no generated code
	{`github.com/prometheus/...`, `cmd/internal/monitors/prometheus`},
	{`github.com/vbauerster/mpb/...`, `cmd/internal/terminal`},
	{`github.com/tinylib/msgp/...`, `formats/foreign/trainers`},
	{`github.com/expr-lang/expr/...`, `formats/expression stages/score/rewards/expr stages/curate/rules stages/group`},
	{`gonum.org/v1/plot/...`, `pipelines/look/plot`},
	{`golang.org/x/term`, `cmd/internal/terminal`},
	{`github.com/xrash/smetrics`, `cmd/internal/cli/... stages/plugin formats/dataset/...`},
}

type listed struct {
	ImportPath string
	Imports    []string
}

// TestLayers checks the imports of all packages against the tables above. Tests
// may import more and are not checked.
func TestLayers(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if _, ok := mayImport(name, ""); !ok {
			t.Errorf("%s is in no layer: give it a row in the table", name)
		}
		for _, imported := range p.Imports {
			if inner, ok := strings.CutPrefix(imported, module+"/"); ok {
				if may, _ := mayImport(name, inner); !may {
					t.Errorf("%s may not import %s", name, inner)
				}
				continue
			}
			for _, h := range homes {
				if matchesPattern(h.library, imported) && !matchesPattern(h.home, name) {
					t.Errorf("%s imports %s, which only %s may import", name, imported, h.home)
				}
			}
		}
	}
}

// TestThePictureHasEveryPackage checks that the picture of the house, in CONTRIBUTING, names each package
// or the folder of the second level that holds it, and has at most forty lines.
func TestThePictureHasEveryPackage(t *testing.T) {
	text, err := os.ReadFile("../../.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(text), "```\n cmd/")
	picture, _, _ = strings.Cut(picture, "```")
	if n := strings.Count(picture, "\n"); n > 40 {
		t.Errorf("the picture has %d lines", n)
	}
	words := strings.FieldsFunc(picture, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, p := range listPackages(t) {
		parts := strings.Split(strings.TrimPrefix(p.ImportPath, module+"/"), "/")
		if last := parts[len(parts)-1]; len(parts) > 1 && !strings.HasSuffix(last, "test") && !slices.Contains(words, parts[1]) {
			t.Errorf("the picture does not name %s", strings.Join(parts, "/"))
		}
	}
}

// TestLayersTable checks that the table refuses wrong imports.
func TestLayersTable(t *testing.T) {
	for _, c := range []struct {
		from, to string
		may      bool
	}{
		{"stages/score", "stages/group", false},
		{"stages/score", "storage", false},
		{"stages/score", "formats/dataset", true},
		{"stages/score", "stages/score/rewards", true},
		{"stages/score/rewards/expr", "stages/score", true},
		{"stages/score/rewards/expr", "stages/rollout", false},
		{"stages/backends/art", "formats/foreign/art", true},
		{"stages/backends/art", "formats/dataset", false},
		{"stages/backends/art", "stages/submit", false},
		{"stages/backends", "formats/dataset", false},
		{"stages/submit", "stages/backends", true},
		{"stages/submit", "stages/backends/art", false},
		{"stages/rollout", "stages/backends", false},
		{"formats/parquet", "formats/dataset", false},
		{"formats/parquet", "formats/digests", true},
		{"formats/parquet", "formats/parquet/reader", true},
		{"formats/parquet/page", "formats/parquet/reader", false},
		{"formats/foreign/art", "formats/dataset/joined", false},
		{"formats/foreign/trainers", "formats/foreign/exporters", true},
		{"formats/dataset", "storage", true},
		{"formats/parquet", "formats/dataset/manifest", false},
		{"formats", "formats/parquet", false},
		{"pipelines/report", "stages/score", false},
		{"pipelines/train", "stages/score", true},
		{"pipelines/convert", "formats/foreign/art", true},
		{"pipelines/convert", "stages/score", false},
		{"storage", "formats", false},
		{"cmd/tictactoe", "formats", false},
		{"cmd/rollmill", "stages/score", true},
		{"cmd/internal/cli", "stages/plugin", true},
		{"cmd/internal/cli", "stages/score", false},
		{"stages/score", "cmd/rollmill", false},
	} {
		if may, ok := mayImport(c.from, c.to); !ok || may != c.may {
			t.Errorf("%s may import %s: %v, want %v", c.from, c.to, !c.may, c.may)
		}
	}
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	var packages []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// mayImport reports whether a package may import another, and whether the table has a
// row for it.
func mayImport(from, to string) (may, ok bool) {
	same := strings.NewReplacer("{x}", strings.Split(from+"/", "/")[1])
	for _, row := range layers {
		if matchesPattern(same.Replace(row.packages), from) {
			return matchesPattern(everyFloor+" "+same.Replace(row.may), to), true
		}
	}
	return false, false
}

// matchesPattern reports whether the patterns include a path; the last one that names it decides.
func matchesPattern(patterns, name string) bool {
	included := false
	for pattern := range strings.FieldsSeq(patterns) {
		pattern, without := strings.CutPrefix(pattern, "-")
		top, below := strings.CutSuffix(pattern, "/...")
		if one, err := path.Match(pattern, name); err != nil {
			panic(pattern + ": " + err.Error())
		} else if one || below && (name == top || strings.HasPrefix(name, top+"/")) {
			included = !without
		}
	}
	return included
}
