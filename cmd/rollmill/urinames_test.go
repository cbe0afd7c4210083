package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notURIs are the folders, files and functions that may take a name apart with package path,
// filepath or strings, and what their names are. A name that a user gives may be a bucket's URI, s3://b/k?endpoint=...,
// whose parameters are at its end: storage.Split, storage.Join and records.Extension know that.
var notURIs = map[string]string{
	"storage":                                 "the package that knows URIs",
	"storage/storage.go place":                "knows URIs",
	"storage/uri.go Join":                     "knows URIs",
	"storage/uri.go IsFolder":                 "knows URIs",
	"storage/uri.go Split":                    "knows URIs",
	"formats/dataset/runroot/uris.go":         "references between datasets, without their stores' parameters",
	"formats/records/compressed.go Extension": "knows URIs",
	"formats/records/compressed.go inflate":   "knows URIs",
	"stages/backends/settings.go FileURI":     "knows URIs",
	"pipelines/prove/prove.go name":           "without parameters",
	"pipelines/convert/export_target.go":      "names from storage.Split, and keys",

	"formats/dataset/runroot/run_id.go":               "keys of a bucket",
	"formats/dataset/seal/not_found.go":               "keys of a bucket, and names from storage.Split",
	"formats/workspace":                               "paths in a container",
	"formats/dataset/reader.go":                       "names of parts in a manifest",
	"formats/dataset/seal/record_lists.go":            "keys of a bucket",
	"formats/dataset/seal/underway.go":                "keys of a bucket",
	"formats/dataset/seal/builds.go Part":             "keys of a bucket",
	"formats/dataset/shards/compact.go part":          "keys of a bucket",
	"formats/foreign/nat/importer.go":                 "names of files without parameters",
	"formats/foreign/otel/records.go":                 "names of files without parameters",
	"pipelines/convert/import_read.go":                "names of files without parameters",
	"pipelines/convert/import_night.go lines":         "the name of a file without parameters",
	"pipelines/look/history/epoch.go":                 "keys of a bucket",
	"pipelines/tidy":                                  "keys of a bucket",
	"pipelines/look/serve":                            "keys of a bucket, and paths of its own pages",
	"pipelines/look/serve/diff.go pairs":              "a reference below the bucket, which is a key",
	"pipelines/look/catalogue":                        "keys of a bucket",
	"pipelines/look/catalogue/catalogue.go Input":     "a reference below the bucket, which is a key",
	"pipelines/look/page/static.go":                   "names of its own files, and paths of requests",
	"cmd/rollmill/import_files.go":                    "keys of a bucket",
	"formats/chat/parts.go":                           "a web address without its query",
	"formats/redaction/load.go":                       "a file that plugin.File reads, on a local disk",
	"stages/internal/containers":                      "local folders, and paths in a container",
	"stages/internal/containers/verifier":             "local folders, and paths in a container",
	"stages/rollout/agents/harbor/relay.go newBridge": "the path of a request",
	"formats/foreign/harbor":                          "local folders of tasks",
	"formats/foreign/harbor/find.go Find":             "a local folder of tasks",
	"cmd/rollmill/settings/examples.go localTasks":    "local copies of tasks in a bucket",
	"cmd/rollmill/settings/examples.go copyTasks":     "local copies, and keys of a bucket",
	"cmd/rollmill/init.go":                            "a local folder",
	"cmd/rollmill/diff.go":                            "a local file",
	"cmd/internal/cli/guidetext.go":                   "a web address",
	"cmd/internal/cli/settings_file.go":               "a local file",
	"cmd/internal/monitors":                           "local files",
	"cmd/tictactoe/model.go":                          "a web address",
	"stages/python_imports.go":                        "local files of Python",
	"stages/wordfile.go":                              "local programs",
	"stages/rollout/attempt.go":                       "a local folder",
	"stages/rollout/attempt.go workFolder":            "a local folder",
	"stages/rollout/agents/program.go":                "a local folder",
	"pipelines/prove/prove.go":                        "a local folder",
	"pipelines/prove/receipt.go sequences":            "a local folder",
	"pipelines/sandbox":                               "a local folder",
	"pipelines/starter":                               "a local folder",

	"stages/backends/art":                     "web addresses",
	"stages/backends/customizer":              "web addresses, and names of images",
	"stages/backends/hfhub":                   "web addresses, and paths in a repository",
	"stages/backends/openai":                  "web addresses",
	"stages/rollout/agents/nat":               "web addresses",
	"stages/rollout/probe.go":                 "web addresses",
	"stages/rollout/try_agent.go":             "a web address",
	"stages/rollout/recorder":                 "web addresses",
	"formats/foreign/gateway/plain.go routed": "the path of a web address",
	"formats/foreign/openenv/importer.go":     "keys below the folder that is read",
	"formats/foreign/otel/importer.go":        "keys below the folder that is read",
	"stages/rollout/tracing":                  "a web address",
	"stages/score/rewards/teacher":            "a web address",
}

// TestNamesMayBeURIs finds code that takes the last part, the folder or the extension of a name
// which may be a URI, or joins something to it, without package storage.
func TestNamesMayBeURIs(t *testing.T) {
	used := map[string]bool{}
	for _, file := range goFiles(t) {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		file = strings.TrimPrefix(filepath.ToSlash(file), "../../")
		if strings.HasSuffix(filepath.Dir(file), "test") {
			continue
		}
		for _, d := range tree.Decls {
			f, _ := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !takesApart(call) {
					return true
				}
				var places []string
				if f != nil {
					places = append(places, file+" "+f.Name.Name)
				}
				if !saysURI(call) {
					for dir := file; dir != "."; dir = filepath.Dir(dir) {
						places = append(places, dir)
					}
				}
				i := slices.IndexFunc(places, func(p string) bool { return notURIs[p] != "" })
				if i < 0 {
					t.Errorf("%s: may this name be a URI? use package storage, or add %q to notURIs and say what the name is", set.Position(call.Pos()), places[0])
					return true
				}
				used[places[i]] = true
				return true
			})
		}
	}
	for place := range notURIs {
		if !used[place] {
			t.Errorf("nothing in %q takes a name apart: remove it from notURIs", place)
		}
	}
}

// takesApart reports whether a call takes a path apart or joins one.
func takesApart(call *ast.CallExpr) bool {
	of, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	switch name := fmt.Sprint(of.X) + "." + of.Sel.Name; {
	case regexp.MustCompile(`^(path|filepath)\.(Base|Dir|Ext|Join|Split|Clean)$`).MatchString(name):
		return true
	case regexp.MustCompile(`^strings\.(TrimSuffix|TrimRight|HasSuffix|CutSuffix|LastIndex|LastIndexByte)$`).MatchString(name):
		with, ok := call.Args[len(call.Args)-1].(*ast.BasicLit)
		return ok && (with.Value == `"/"` || with.Value == `'/'`)
	}
	return false
}

// saysURI reports whether an argument is by its name what a user gave, or the place of a file.
func saysURI(call *ast.CallExpr) (says bool) {
	for _, a := range call.Args {
		ast.Inspect(a, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			says = says || ok && regexp.MustCompile(`(?i)^(.*uri|root|out|place|in)$`).MatchString(name.Name)
			return true
		})
	}
	return says
}
