package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unbounded lists the calls that need no bound of their own, by folder and
// function, each with the reason. All other data from a file, a service or a
// program is read through io.LimitReader or into a buffer of fixed size, and a
// recursive parser has a parameter named depth.
var unbounded = map[string]string{
	"stages/backends/openai complete":       "the request that this program made",
	"stages/rollout/agents/nat readStream":  "the reader is limited to maxStream",
	"stages/rollout/agents/verifiers start": "the reader is limited to 64 KiB",
}

// testDouble reports whether a package is a server or store for tests, which reads
// only what tests send.
func testDouble(dir string) bool {
	base := filepath.Base(dir)
	return strings.HasSuffix(base, "test") || base == "s3test" || base == "conformance" ||
		strings.HasPrefix(dir, "testdata") || strings.HasPrefix(dir, "cmd/tictactoe") || strings.HasPrefix(dir, "pipelines/sandbox")
}

// parsers lists packages in which every recursive function takes a depth.
var parsers = []string{"formats/parquet", "formats/arrow", "formats/examples", "formats/records", "formats/jsontext", "formats/foreign/nat",
	"stages/rollout/recorder", "formats/apis", "formats/completion", "formats/tree", "stages/rollout/agents/nat", "stages/internal/remote"}

// recursion lists recursive functions of parsers that need no depth.
var recursion = map[string]string{
	"formats/jsontext withNumbers": "json.Decoder bounds the depth of what it decodes",
	"formats/tree longestText":     "as deep as the messages of a trajectory, each of which is a call that was recorded",
	"formats/arrow typeOf":         "the type of a row is as deep as its declaration",
	"formats/arrow textAt":         "into a dictionary's values, once; maxDepth bounds the schema",
	"formats/jsontext checkKeys":   "as deep as the Go type of the answer",
	"formats/jsontext encoderOf":   "as deep as the Go type of the rows",
	"formats/parquet bytes":        "as deep as the Go type of the rows",
	"formats/parquet value":        "as deep as the Go type of the rows, or as a schema may be: see maxNesting",
	"formats/parquet valueType":    "as deep as a schema may be: see maxNesting",
	"formats/parquet addNested":    "as deep as the Go type of the rows",
}

// TestReadsAreBounded finds new code that reads outside data without a limit. It
// looks only at the syntax: a limit that is set elsewhere needs a line in the list.
func TestReadsAreBounded(t *testing.T) {
	found, deep := map[string]string{}, map[string]string{}
	eachFunction(t, func(dir string, set *token.FileSet, f *ast.FuncDecl) {
		name := dir + " " + f.Name.Name
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if what := readsAll(call); what != "" {
				found[name] = fmt.Sprintf("%s: %s", set.Position(call.Pos()), what)
			}
			if slices.Contains(parsers, dir) && callsItself(f, call) && !hasDepth(f) {
				deep[name] = fmt.Sprintf("%s: %s calls itself without a parameter named depth", set.Position(call.Pos()), f.Name.Name)
			}
			return true
		})
	})
	compare(t, found, unbounded, "give it a bound")
	compare(t, deep, recursion, "give it a bound")
}

// readsAll describes what a call reads without a limit, or returns "".
func readsAll(call *ast.CallExpr) string {
	switch name := selector(call.Fun); {
	case name == "io.ReadAll" && !made(call.Args[0], "io.LimitReader", "http.MaxBytesReader", "bytes.NewReader", "strings.NewReader"):
		return "io.ReadAll of what has no limit"
	case name == "json.NewDecoder" && !made(call.Args[0], "io.LimitReader", "http.MaxBytesReader", "bytes.NewReader", "strings.NewReader"):
		return "a JSON decoder holds a value of any length"
	case strings.HasSuffix(name, ".ReadBytes") || strings.HasSuffix(name, ".ReadString"):
		return "a line of any length"
	}
	return ""
}

// selector returns a call's function as it is written, at most "x.y".
func selector(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := s.X.(*ast.Ident); ok {
		return x.Name + "." + s.Sel.Name
	}
	return "." + s.Sel.Name
}

// made reports whether an argument is itself a call of one of the functions.
func made(e ast.Expr, by ...string) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && slices.Contains(by, selector(call.Fun))
}

// callsItself reports whether a call is recursive. It compares names, so a call of
// the method of another value counts.
func callsItself(f *ast.FuncDecl, call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return f.Recv == nil && fun.Name == f.Name.Name
	case *ast.SelectorExpr:
		x, ok := fun.X.(*ast.Ident)
		return ok && f.Recv != nil && len(f.Recv.List[0].Names) > 0 && x.Name == f.Recv.List[0].Names[0].Name && fun.Sel.Name == f.Name.Name
	}
	return false
}

func hasDepth(f *ast.FuncDecl) bool {
	for _, p := range f.Type.Params.List {
		for _, n := range p.Names {
			if n.Name == "depth" {
				return true
			}
		}
	}
	return false
}

// rooms are the packages that have floors: packages below them, which the lists name as the room.
var rooms = []string{"formats/parquet", "formats/dataset", "formats/validate", "stages/rollout/recorder", "stages/group", "stages/curate"}

func roomOf(dir string) string {
	for _, room := range rooms {
		if strings.HasPrefix(dir, room+"/") {
			return room
		}
	}
	return dir
}

// eachFunction calls f for each function of the program, except tests and their
// servers.
func eachFunction(t *testing.T, f func(dir string, set *token.FileSet, decl *ast.FuncDecl)) {
	t.Helper()
	const root = "../.."
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "runs" || testDouble(filepath.ToSlash(name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				f(roomOf(filepath.ToSlash(filepath.Dir(name))), set, fn)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReadsAreBoundedFinds checks that the lint finds faults.
func TestReadsAreBoundedFinds(t *testing.T) {
	for text, want := range map[string]bool{
		"io.ReadAll(resp.Body)":                          true,
		"io.ReadAll(io.LimitReader(resp.Body, 5))":       false,
		"json.NewDecoder(r.Body)":                        true,
		"json.NewDecoder(bytes.NewReader(data))":         false,
		"in.ReadBytes('x')":                              true,
		"in.ReadSlice('x')":                              false,
		"json.NewDecoder(io.LimitReader(r.Body, 1<<20))": false,
	} {
		e, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := readsAll(e.(*ast.CallExpr)); (got != "") != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
