package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
)

// declaring lists the functions of package plugin that declare a setting. The name
// is one of the arguments.
var declaring = regexp.MustCompile(`^(String|Strings|Bool|Int|Int64|Float|Duration|OptionalInt|OptionalInt64|OptionalFloat|OptionalString|Objects|KeyValues|Lists|Words|Key|Func|JSONObjects|Choice|Var|Into|List|Choose|ChooseSpec|[Nn]ewNumber)$`)

// spoken lists calls in which a setting's name is the name of something else: the
// tag of an identity, a spec's key.
var spoken = regexp.MustCompile(`^(ID|IDAlways|Put|Identity)$`)

// TestSettingsAreNamedOnce walks the tree and checks that the name of a setting is
// only in the line that declares it. Names of one word are not searched for,
// because they have other meanings too.
func TestSettingsAreNamedOnce(t *testing.T) {
	names := map[string]bool{}
	for _, settings := range app().Schema() {
		for _, s := range settings {
			if strings.Contains(s.Name, "-") {
				names[s.Name] = true
			}
		}
	}
	if len(names) < 100 {
		t.Fatalf("only %d settings have names of several words", len(names))
	}
	declared := map[string][]string{} // by name, where it is declared
	for _, file := range goFiles(t) {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, arg := range call.Args {
				name := literal(arg)
				if !names[name] {
					continue
				}
				switch f := called(call); {
				case declaring.MatchString(f):
					declared[name] = append(declared[name], filepath.Dir(file))
				case !spoken.MatchString(f):
					t.Errorf("%s names the setting %q, which is declared elsewhere", set.Position(arg.Pos()), name)
				}
			}
			return true
		})
	}
	for name, in := range declared {
		slices.Sort(in)
		if once := slices.Compact(slices.Clone(in)); len(once) != len(in) {
			t.Errorf("%q is declared twice in one package: %q", name, in)
		}
	}
}

// TestColumnTagsAreParsedOnce checks that only schema.FieldsOf parses the tags of
// row types.
func TestColumnTagsAreParsedOnce(t *testing.T) {
	parses := regexp.MustCompile(`Tag\.(Get|Lookup)\("(parquet|rollmill)"`)
	var in []string
	for _, file := range goFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if parses.Match(text) {
			in = append(in, filepath.ToSlash(file))
		}
	}
	if !slices.Equal(in, []string{"../../formats/schema/fields.go"}) {
		t.Errorf("the tags of columns are parsed in %q", in)
	}
}

func goFiles(t *testing.T) (files []string) {
	t.Helper()
	for _, root := range []string{"../../cmd", "../../stages", "../../formats", "../../pipelines", "../../storage"} {
		if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(filepath.Dir(path), "test") {
				files = append(files, path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func literal(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(l.Value) // the parser accepted it
	return text
}

func called(call *ast.CallExpr) string {
	f := call.Fun
	if g, ok := f.(*ast.IndexExpr); ok {
		f = g.X
	}
	switch f := f.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// TestTextsNameExistingFlags checks that every flag in a help text, a message or a
// page exists, so that no text uses a former name.
func TestTextsNameExistingFlags(t *testing.T) {
	known := map[string]bool{"version": true, "": true}
	for _, settings := range app().Schema() {
		for _, s := range settings {
			known[s.Name] = true
		}
	}
	var owners []*plugin.Owner
	for _, cmd := range app().Commands {
		for _, c := range append(cmd.Parts, cmd) {
			if c.Settings == nil {
				continue
			}
			for _, s := range plugin.Declared(c.Settings()) {
				known[s.Name] = true
			}
			owners = append(owners, plugin.Owners(c.Settings())...)
		}
	}
	for _, p := range owners {
		for _, m := range mentioned.FindAllStringSubmatch(p.Help, -1) {
			if !known[m[1]] {
				t.Errorf("%s %s: its help names --%s", p.Sort, p.Name, m[1])
			}
		}
	}
	for _, settings := range app().Schema() {
		for _, s := range settings {
			for _, m := range mentioned.FindAllStringSubmatch(s.Help+" "+s.Default, -1) {
				if !known[m[1]] {
					t.Errorf("--%s: its help names --%s", s.Name, m[1])
				}
			}
		}
	}
}

var mentioned = regexp.MustCompile(`--([a-z][a-z0-9-]*)`)
