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

// unbounded lists calls that may be without a bound of their own, by folder
// and function, each with the reason. What is read from a file, a service or a
// program goes through io.LimitReader or into a buffer of fixed size; a parser
// that calls itself has a parameter named depth.
var unbounded = map[string]string{
	"formats/examples columnMap":           "text.most bounds what the decoder can read",
	"formats/examples readJSON":            "array.next sets text.most for each record",
	"formats/examples lineOfError":         "reads again what was read within bounds",
	"stages/backends/openai complete":      "the request that this program made",
	"stages/rollout/agents/nat readStream": "the reader is limited to maxStream",
}

// testDoubles are packages of servers and stores for tests: they read what
// tests send them.
func testDouble(dir string) bool {
	base := filepath.Base(dir)
	return strings.HasSuffix(base, "test") || base == "fakes3" || base == "conformance" || base == "faulty" ||
		strings.HasPrefix(dir, "testdata") || strings.HasPrefix(dir, "cmd/tictactoe") || strings.HasPrefix(dir, "stages/backends/sandbox")
}

// parsers are packages of which every function that calls itself takes a depth.
var parsers = []string{"formats/parquet", "formats/arrow", "formats/examples", "stages/rollout/recorder", "stages/rollout/agents/nat", "stages/internal/remote"}

// recursion lists parsers' functions that may call themselves without a depth.
var recursion = map[string]string{
	"formats/arrow textAt":                "into a dictionary's values, once; maxDepth bounds the schema",
	"formats/parquet typ":                 "as deep as a schema may be: see maxNesting",
	"formats/parquet bindFields":          "as deep as the Go type of the rows",
	"formats/parquet sizeFields":          "as deep as the Go type of the rows",
	"formats/parquet value":               "as deep as the Go type of the rows, or as a schema may be: see maxNesting",
	"formats/parquet walk":                "as deep as the Go type of the rows",
	"stages/rollout/recorder longestText": "as deep as the messages of a trajectory, each of which is a call that was recorded",
	"stages/rollout/recorder stripParts":  "cursor.object bounds it by maxDepth",
}

// TestReadsAreBounded finds new places that read foreign bytes without a
// limit. It looks at the syntax alone: a limit that is set elsewhere needs a
// line in the list.
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

// readsAll says what a call reads without a limit, or "".
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

// selector is a call's function as it is written, "x.y" at most.
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

// made reports whether an argument is made by one of the functions, in place.
func made(e ast.Expr, by ...string) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && slices.Contains(by, selector(call.Fun))
}

// callsItself compares names: a method of another value of the type counts.
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

// eachFunction goes through the functions of the program, tests and their
// servers left out.
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
				f(filepath.ToSlash(filepath.Dir(name)), set, fn)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBoundsAreSeen checks that the lint can refuse.
func TestBoundsAreSeen(t *testing.T) {
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
