package main

import (
	"os/exec"
	"path"
	"strings"
	"testing"
)

const module = "github.com/rollmill/rollmill"

// layers lists the packages that each package may import, besides storage/fault, regular
// and scratch. The first row that matches counts, so the more specific rows come first. A
// row holds patterns, separated by spaces, of whole paths below the module:
//
//	formats/arrow        this package
//	stages/*             any package one level below stages
//	formats/...          formats and every package below it
//	-formats/dataset/... without these, which an earlier pattern of the row includes
//	{x}                  the second element of the importing package's path
//
// A package whose name ends in test serves tests: only such packages and tests import it.
// A new package needs a row only where no pattern is true for it.
var layers = []struct{ packages, may string }{
	{`storage/...`, `storage/...`},
	{`formats formats/decision formats/outcomes formats/receipts formats/schema formats/training`,
		`formats/decision formats/outcomes formats/schema formats/training`},
	{`formats/dataset/...`, `formats/... storage`},
	{`formats/foreign/...`, `formats/... -formats/dataset/...`},
	{`formats/parquet/*`, `formats formats/jsontext formats/schema formats/parquet/layout formats/parquet/page`},
	{`formats/...`, `formats/... -formats/dataset/... -formats/foreign/...`},
	{`stages`, `formats formats/decision formats/receipts formats/secret`},
	{`stages/plugin/...`, `stages stages/plugin`},
	{`stages/internal/containers/verifier`, `stages stages/internal/... formats formats/* formats/foreign/harbor`},
	{`stages/internal/...`, `stages stages/internal/... formats formats/* -formats/dataset -formats/foreign`},
	{`stages/backends/...`, `stages stages/plugin/... stages/internal/... stages/backends/... formats/... -formats/dataset/...`},
	{`stages/submit/...`, `stages stages/plugin/... stages/internal/... stages/submit/... stages/backends formats/...`},
	{`stages/{x}/...`, `stages stages/plugin/... stages/internal/... stages/{x}/... formats/...`},
	{`pipelines/train pipelines/eval pipelines/prove`,
		`stages stages/* stages/rollout/planning stages/rollout/watch pipelines/* pipelines/look/... -pipelines/sandbox formats/... storage`},
	{`pipelines/look/text`, `formats/excerpt formats/jsontext formats/plural pipelines/look/clusters`},
	{`pipelines/look/... pipelines/report pipelines/inspect/...`, `pipelines/run pipelines/look/... pipelines/inspect/audit/witness formats/... storage`},
	{`pipelines/convert`, `pipelines/convert/... stages stages/plugin formats/... storage`},
	{`pipelines/convert/...`, `pipelines/convert/... formats/... storage`},
	{`pipelines/...`, `pipelines/{x} pipelines/run formats/... storage`},
	{`cmd/internal/began cmd/tictactoe cmd/rollmill/systemtest`, ``},
	{`cmd/internal/...`, `cmd/internal/... stages stages/plugin formats formats/* -formats/foreign formats/dataset/* storage`},
	{`cmd/rollmill/...`, `cmd/... pipelines/... stages/... formats/... storage/...`},
}

// homes lists the packages that may import each outside library, or one of ours, in the
// same patterns. Libraries that are not listed may be imported anywhere.
var homes = []struct{ library, home string }{
	{`github.com/parquet-go/parquet-go/...`, `formats/parquet/...`},
	{`github.com/apache/arrow-go/v18/parquet/...`, `formats/arrow/arrowtest`}, // 30 MB of code, for tests
	{`github.com/apache/arrow-go/...`, `formats/arrow/...`},
	{`gocloud.dev/...`, `storage/...`},
	{`github.com/cenkalti/backoff/...`, `storage/fault`},
	{`github.com/sashabaranov/go-openai/...`, `stages/backends/openai/...`},
	{`github.com/urfave/cli/...`, `cmd/internal/cli/...`},
	{`google.golang.org/protobuf/...`, `formats/foreign/otel`}, // the wire format only: no generated code
	{`github.com/prometheus/...`, `cmd/internal/monitors`},
	{`github.com/vbauerster/mpb/...`, `cmd/internal/terminal`},
	{`github.com/tinylib/msgp/...`, `formats/foreign/trainers`},
	{`github.com/expr-lang/expr/...`, `formats/expression stages/score/rewards/expr stages/curate/rules stages/group`},
	{`gonum.org/v1/plot/...`, `pipelines/look/plot`},
	// the value of a wrong type is a panic in these, which the door of importers catches
	{module + "/formats/foreign/must " + module + "/formats/foreign/value " + module + "/formats/foreign/chat " + module + "/formats/foreign/atif",
		`formats/foreign/...`},
	{`github.com/clipperhouse/uax29/...`, `formats/dataset/heldout`},
	{`golang.org/x/term`, `cmd/internal/terminal`},
	{`github.com/xrash/smetrics`, `cmd/internal/cli/... stages/plugin`},
}

// TestLayers checks the imports of all packages against the tables above. Tests
// may import more and are not checked.
func TestLayers(t *testing.T) {
	for name, imports := range listPackages(t) {
		if _, ok := mayImport(name, ""); !ok {
			t.Errorf("%s is in no layer: give it a row in the table", name)
		}
		for _, imported := range imports {
			if inner, ok := strings.CutPrefix(imported, module+"/"); ok {
				if may, _ := mayImport(name, inner); !may {
					t.Errorf("%s may not import %s", name, inner)
				}
			}
			for _, h := range homes {
				if matchesPattern(h.library, imported) && !matchesPattern(h.home, name) {
					t.Errorf("%s imports %s, which only %s may import", name, imported, h.home)
				}
			}
		}
	}
}

// TestLayersTable checks that the table refuses wrong imports, which have a minus here.
func TestLayersTable(t *testing.T) {
	for from, imports := range map[string]string{
		"storage":                   "storage/fault -formats",
		"formats":                   "formats/outcomes -formats/parquet",
		"formats/parquet":           "formats/digests formats/parquet/reader -formats/dataset -formats/dataset/manifest",
		"formats/parquet/page":      "-formats/parquet/reader",
		"formats/foreign/art":       "-formats/dataset/joined",
		"formats/foreign/trainers":  "formats/foreign/exporters",
		"formats/dataset":           "storage -formats/randomtest",
		"stages/rollout":            "-stages/backends",
		"stages/score":              "formats/dataset stages/score/rewards -stages/group -storage -cmd/rollmill",
		"stages/score/rewards/expr": "stages/score -stages/rollout",
		"stages/backends":           "-formats/dataset",
		"stages/backends/art":       "formats/foreign/art -formats/dataset -stages/submit -stages/backends/art/arttest",
		"stages/submit":             "stages/backends -stages/backends/art",
		"pipelines/report":          "-stages/score",
		"pipelines/train":           "stages/score -pipelines/sandbox",
		"pipelines/convert":         "formats/foreign/art -stages/score -pipelines/train",
		"cmd/tictactoe":             "-formats",
		"cmd/internal/cli":          "stages/plugin -stages/score",
		"cmd/rollmill":              "stages/score",
	} {
		for to := range strings.FieldsSeq(imports) {
			to, forbidden := strings.CutPrefix(to, "-")
			if may, ok := mayImport(from, to); !ok || may == forbidden {
				t.Errorf("%s may import %s: %v", from, to, may)
			}
		}
	}
}

// listPackages returns the packages of the module and what each imports.
func listPackages(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		packages[strings.TrimPrefix(words[0], module+"/")] = words[1:]
	}
	return packages
}

// mayImport reports whether a package may import another, and whether the table has a
// row for it.
func mayImport(from, to string) (may, ok bool) {
	if strings.HasSuffix(to, "test") && !strings.HasSuffix(from, "test") {
		return false, true
	}
	same := strings.NewReplacer("{x}", strings.Split(from+"/", "/")[1])
	for _, row := range layers {
		if matchesPattern(same.Replace(row.packages), from) {
			return matchesPattern("storage/fault storage/regular storage/scratch "+same.Replace(row.may), to), true
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
