package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/rollmill/rollmill"

// layers lists the packages that each package of the module may import, the most
// specific pattern first. {x} is the same path element on both sides.
var layers = []struct {
	packages string
	may      string // patterns, separated by spaces
}{
	{`cmd/tictactoe`, ``},
	{`cmd/rollmill`, `.*`},
	{`cmd/rollmill/systemtest`, ``},
	{`cmd/internal/began`, ``},
	{`cmd/internal/monitors/mlflow`, `cmd/internal/monitors stages stages/plugin stages/backends/mlflow`},
	{`cmd/internal/monitors(/.*)?`, `cmd/internal/monitors(/.*)? stages stages/plugin`},
	{`cmd/internal/cli`, `cmd/internal/began cmd/internal/monitors stages stages/plugin formats formats/dataset formats/plural formats/redaction formats/secret formats/yamldoc storage`},
	{`storage(/.*)?`, `storage storage/.*`},
	{`formats`, ``},
	{`formats/dataset(/.*)?`, `formats formats/.* storage`},
	{`formats/foreign(/.*)?`, `formats formats/[^d][^/]* formats/foreign/.* formats/arrow/arrowtest`},
	{`formats/.+`, `formats formats/[^d][^/]*`},
	{`stages`, `formats`},
	{`stages/plugin(/.*)?`, `stages stages/plugin`},
	{`stages/internal/.*`, `stages formats formats/secret formats/traceback`},
	{`stages/stagetest`, `stages stages/internal/.* formats formats/.* storage storage/.*`},
	{`stages/backends(/.*)?`, `formats formats/[^d][^/]* formats/foreign(/.*)? stages stages/plugin stages/plugin/.* stages/internal/.* stages/backends(/.*)?`},
	{`stages/submit`, `stages stages/plugin stages/internal/.* stages/backends formats formats/.*`},
	{`stages/{x}(/.*)?`, `stages stages/plugin stages/plugin/.* stages/internal/.* stages/{x}(/.*)? formats formats/.*`},
	{`pipelines/(train|eval|make)`, `stages stages/[^/]+ formats formats/.* storage pipelines/run pipelines/report pipelines/inspect`},
	{`pipelines/prove`, `stages stages/[^/]+ formats formats/.* storage pipelines/(inspect|convert|run)`},
	{`pipelines/(convert|natconfig|starter)`, `stages stages/plugin formats formats/.* storage`},
	{`pipelines/view(/.*)?`, `formats formats/.* storage pipelines/(run|inspect|report|view/.*)`},
	{`pipelines/.*`, `formats formats/.* storage pipelines/(run|inspect)`},
	{`\.ci/.*`, ``},
}

// homes lists the packages that may import each outside library. Libraries that
// are not listed may be imported anywhere.
var homes = []struct{ library, home string }{
	{`github.com/parquet-go/parquet-go`, `formats/parquet`},
	{`github.com/apache/arrow-go`, `formats/arrow`},
	{`github.com/apache/arrow-go/v18/parquet`, `formats/arrow/arrowtest`}, // 30 MB of code, for tests
	{`github.com/santhosh-tekuri/jsonschema`, ``},                         // 5 ms at the start of every command: for tests
	{`gocloud.dev`, `storage`},
	{`github.com/cenkalti/backoff`, `stages/internal/remote storage`},
	{`github.com/sashabaranov/go-openai`, `stages/backends/openai`},
	{`github.com/urfave/cli`, `cmd/internal/cli`},
	{`google.golang.org/protobuf`, `formats/foreign/otel stages/rollout/tracing cmd/internal/monitors/tensorboard`}, // the wire format only: no generated code
	{`github.com/prometheus`, `cmd/internal/monitors/prometheus`},
	{`github.com/vbauerster/mpb`, `cmd/internal/cli`},
	{`github.com/tinylib/msgp`, `formats/foreign/trainers`},
	{`github.com/expr-lang/expr`, `formats/expression stages/score/rewards/expr stages/curate/rules stages/group`},
	{`gonum.org/v1/plot`, `pipelines/report pipelines/inspect`},
	{`golang.org/x/term`, `cmd/internal/cli`},
	{`github.com/xrash/smetrics`, `cmd/internal/cli stages/plugin formats/dataset`},
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
		allowed, ok := mayImport(name)
		if !ok {
			t.Errorf("%s is in no layer: give it a line in the table", name)
			continue
		}
		for _, path := range p.Imports {
			if inner, ok := strings.CutPrefix(path, module+"/"); ok {
				if !allowed.MatchString(inner) {
					t.Errorf("%s may not import %s", name, inner)
				}
				continue
			}
			for _, h := range homes {
				if (path == h.library || strings.HasPrefix(path, h.library+"/")) && !livesIn(name, h.home) {
					t.Errorf("%s imports %s, which only %s may import", name, path, h.home)
				}
			}
		}
	}
}

func livesIn(name, homes string) bool {
	for home := range strings.FieldsSeq(homes) {
		if name == home || strings.HasPrefix(name, home+"/") {
			return true
		}
	}
	return false
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
		{"formats/foreign/trainers", "formats/foreign/exporters", true},
		{"formats/dataset", "storage", true},
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
		allowed, ok := mayImport(c.from)
		if !ok || allowed.MatchString(c.to) != c.may {
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

// mayImport returns a pattern of the packages that a package may import, and
// reports whether the package is in the table.
func mayImport(name string) (*regexp.Regexp, bool) {
	for _, l := range layers {
		from := regexp.MustCompile(`^(?:` + strings.ReplaceAll(l.packages, "{x}", `(?P<x>[^/]+)`) + `)$`)
		m := from.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		may := l.may
		if i := from.SubexpIndex("x"); i >= 0 {
			may = strings.ReplaceAll(may, "{x}", regexp.QuoteMeta(m[i]))
		}
		patterns := append(strings.Fields(may), `storage/(regular|scratch)`) // files of every floor
		return regexp.MustCompile(`^(?:` + strings.Join(patterns, "|") + `)$`), true
	}
	return nil, false
}
