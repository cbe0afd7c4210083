package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/stages/plugin"
)

// namingText is a text in the product's code.
type namingText struct {
	place string // of the file, from the root of the module, and the line
	file  string
	says  string // with § for what is only known at run time
	hint  bool   // it is advice, and not a message or help
}

// texts returns every text of the product that names a flag or a command of this program.
func texts(t *testing.T) (out []namingText) {
	t.Helper()
	names := regexp.MustCompile(`(?:^|[^-\w])--[a-z]|rollmill [a-z]`)
	type folder struct {
		files     []string
		trees     []*ast.File
		constants map[string]string
	}
	set, folders, parameters := token.NewFileSet(), map[string]*folder{}, map[string][]int{}
	for _, file := range goFiles(t) {
		tree, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(file)
		in := folders[dir]
		if in == nil {
			in = &folder{constants: map[string]string{}}
			folders[dir] = in
		}
		in.files, in.trees = append(in.files, file), append(in.trees, tree)
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) {
						in.constants[name.Name] = said(n.Values[i], in.constants)
					}
				}
			case *ast.FuncDecl:
				parameter(dir, n.Name.Name, n.Type, parameters)
			case *ast.AssignStmt:
				if f, ok := n.Rhs[0].(*ast.FuncLit); ok {
					if name, ok := n.Lhs[0].(*ast.Ident); ok {
						parameter(dir, name.Name, f.Type, parameters)
					}
				}
			}
			return true
		})
	}
	for dir, in := range folders {
		files, trees, constants := in.files, in.trees, in.constants
		for i, tree := range trees {
			advice := map[ast.Expr]bool{}
			ast.Inspect(tree, func(n ast.Node) bool {
				markHints(n, dir, parameters, advice)
				return true
			})
			ast.Inspect(tree, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				says := said(e, nil)
				if says == "" && advice[e] {
					says = said(e, constants)
				}
				if says == "" || says == "§" {
					return true
				}
				if names.MatchString(says) {
					file := strings.TrimPrefix(filepath.ToSlash(files[i]), "../../")
					out = append(out, namingText{place: strings.TrimPrefix(set.Position(e.Pos()).String(), "../../"), file: file, says: says,
						hint: advice[e]})
				}
				return false
			})
		}
	}
	slices.SortFunc(out, func(a, b namingText) int { return strings.Compare(a.place, b.place) })
	return out
}

// parameter notes which parameter of a function is its hint.
func parameter(dir, name string, f *ast.FuncType, at map[string][]int) {
	n := 0
	for _, field := range f.Params.List {
		for _, p := range field.Names {
			if p.Name == "hint" {
				at[scoped(dir, name)] = append(at[scoped(dir, name)], n)
			}
			n++
		}
	}
}

var advises = regexp.MustCompile(`(?i)^(help|.*hint|advice|advise)$`) // names of what holds or makes a hint

// scoped returns a function's name, in its folder if it is not exported.
func scoped(dir, name string) string {
	if ast.IsExported(name) {
		return name
	}
	return dir + "." + name
}

// markHints marks the expressions of a node that are advice: the argument for a parameter
// "hint", a field or variable of that name, and what a function of that name returns.
func markHints(n ast.Node, dir string, at map[string][]int, advice map[ast.Expr]bool) {
	mark := func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				advice[e] = true
			}
			return true
		})
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		for _, i := range at[scoped(dir, called(n))] {
			if i < len(n.Args) {
				mark(n.Args[i])
			}
		}
	case *ast.CompositeLit:
		describes := slices.ContainsFunc(n.Elts, func(e ast.Expr) bool { return keyOf(e) == "Name" || keyOf(e) == "Flag" }) // its Help is no advice
		for _, e := range n.Elts {
			if name := keyOf(e); advises.MatchString(name) && !(describes && name == "Help") {
				mark(e.(*ast.KeyValueExpr).Value)
			}
		}
	case *ast.AssignStmt:
		for i, l := range n.Lhs {
			if name, ok := l.(*ast.Ident); ok && advises.MatchString(name.Name) && len(n.Rhs) == len(n.Lhs) {
				mark(n.Rhs[i])
			}
		}
	case *ast.FuncDecl:
		if advises.MatchString(n.Name.Name) && n.Body != nil {
			ast.Inspect(n.Body, func(n ast.Node) bool {
				if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
					mark(r.Results[0])
				}
				return true
			})
		}
	}
}

// keyOf returns the field that an element of a composite literal sets, or "".
func keyOf(e ast.Expr) string {
	if kv, ok := e.(*ast.KeyValueExpr); ok {
		if key, ok := kv.Key.(*ast.Ident); ok {
			return key.Name
		}
	}
	return ""
}

// said returns the text of an expression: literals, joined ones and constants.
func said(e ast.Expr, constants map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return literal(e)
	case *ast.ParenExpr:
		return said(e.X, constants)
	case *ast.Ident:
		return constants[e.Name]
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return ""
		}
		a, b := said(e.X, constants), said(e.Y, constants)
		if a == "" && b == "" {
			return ""
		}
		if a == "" {
			a = "§"
		}
		if b == "" {
			b = "§"
		}
		return a + b
	}
	return ""
}

// givers lists who prints the texts of a folder or a file, the longest prefix first.
var givers = []struct {
	prefix   string
	commands []string
}{
	{"stages/rollout/", []string{"rollout", "train", "try", "eval", "check", "refill"}},
	{"stages/internal/containers/", []string{"rollout", "train", "try", "eval", "check", "refill"}},
	{"stages/score/", []string{"score", "train", "try", "eval", "check", "refill"}},
	{"stages/group/recompute.go", []string{"curate", "train"}},
	{"stages/group/", []string{"group", "train", "try", "check", "refill"}},
	{"stages/curate/", []string{"curate", "train", "check", "refill"}},
	{"stages/submit/job.go", []string{"job status", "job wait", "job cancel"}},
	{"stages/submit/", []string{"submit", "train", "check"}},
	{"stages/backends/openai/probe", []string{"check"}},
	{"stages/backends/", []string{"submit", "train", "check"}},
	{"formats/examples/", []string{"rollout", "train", "try", "eval", "check", "refill"}},
	{"pipelines/eval/try", []string{"try"}},
	{"pipelines/eval/", []string{"eval"}},
	{"pipelines/train/refill.go", []string{"refill", "train"}},
	{"pipelines/train/", []string{"train"}},
	{"pipelines/tidy/compact.go", []string{"compact"}},
	{"pipelines/tidy/", []string{"prune"}},
	{"pipelines/report/", []string{"report"}},
	{"pipelines/look/serve/", []string{"view"}},
	{"pipelines/look/live/", []string{"view"}},
	{"pipelines/look/catalogue/", []string{"view"}},
	{"pipelines/look/history/", []string{"report"}},
	{"pipelines/prove/", []string{"prove"}},
	{"pipelines/inspect/audit/", []string{"audit"}},
	{"pipelines/look/diff/", []string{"diff"}},
	{"pipelines/look/trace/", []string{"explain"}},
	{"pipelines/look/", []string{"show"}},
	{"pipelines/convert/export", []string{"export"}},
	{"pipelines/convert/import", []string{"import"}},
	{"pipelines/starter/", []string{"init"}},
	{"cmd/rollmill/settings/examples", []string{"rollout", "train", "try", "eval", "check", "refill"}},
	{"cmd/rollmill/settings/judge.go", []string{"score", "train", "try", "eval", "check", "refill"}},
	{"cmd/rollmill/check", []string{"check"}},
	{"cmd/rollmill/job", []string{"job status", "job wait", "job cancel"}},
	{"cmd/rollmill/settings/echo.go", []string{"submit", "train"}},
	{"cmd/rollmill/settings/given_back.go", []string{"submit", "train"}},
	{"cmd/rollmill/import_files.go", []string{"import"}},
}

// of other programs, by the text before or after the flag.
var others = regexp.MustCompile(`config_file|--array=|LimitNOFILE|nat finetune --dataset|agent\.py --fast|--max-logprobs|rollmill\.inspect|§ --version|` +
	`runtime's --env-file|"\$\{|flags=|--score score|a command with|--judge- |'./agent --fast'|--dangerously-|opencode run|rollmill %s|rollmill\.hub --repo`)

func giversOf(file string) []string {
	for _, g := range givers {
		if strings.HasPrefix(file, g.prefix) {
			return g.commands
		}
	}
	if name, ok := strings.CutPrefix(file, "cmd/rollmill/"); ok {
		for _, cmd := range app().Commands {
			if cmd.Name+".go" == name {
				return []string{cmd.Name}
			}
		}
	}
	return nil // any
}

// TestFlagsInTextsBelongToTheirCommand checks every text that names a flag: the command
// that is named before it has the flag, or else each command that prints the text has it
// or has, in its words, the key of a section.
func TestFlagsInTextsBelongToTheirCommand(t *testing.T) {
	a, has := app(), map[string]map[string]bool{}
	for _, cmd := range a.Commands {
		for _, c := range append(slices.Clone(cmd.Parts), cmd) {
			has[c.Name] = map[string]bool{"version": true}
			for _, s := range a.Schema()[""] {
				has[c.Name][s.Name] = true
			}
			if c.Settings != nil {
				for _, s := range plugin.Declared(c.Settings()) {
					has[c.Name][s.Name] = true
				}
			}
		}
	}
	key := regexp.MustCompile(`^--set ([a-z]+)\.([a-z-]+)`)
	spoken := regexp.MustCompile("(?:`rollmill | of )([a-z]+)")
	line := regexp.MustCompile(`(?:^|[;&]) *(?:do )?rollmill ([a-z]+(?: status| wait| list| cancel)?|\$\$stage) `)
	n := 0
	for _, x := range texts(t) {
		oneWord := (strings.HasPrefix(x.file, "stages/rollout/agents/") || strings.HasPrefix(x.file, "stages/internal/containers/")) && !strings.Contains(x.says, " ") // for a program that it starts
		if others.MatchString(x.says) || oneWord || strings.HasPrefix(x.file, "cmd/tictactoe/") {
			continue
		}
		var wrong []string
		mentioned := spoken.FindAllStringSubmatch(x.says, -1)
		for _, m := range mentioned {
			if strings.HasPrefix(m[0], "`") && has[m[1]] == nil && m[1] != "help" && m[1] != "completion" {
				wrong = append(wrong, "there is no command "+m[1])
			}
		}
		belongs := func(f cli.NamedFlag, giver, says string) bool {
			before := says[:strings.Index(says, "--"+f.Name)]
			before = before[strings.LastIndex(before, "\n")+1:]
			if m := line.FindAllStringSubmatch(before, -1); m != nil { // a command to copy
				return m[len(m)-1][1] == "$$stage" || has[m[len(m)-1][1]][f.Name]
			}
			if f.Command != "" {
				return has[f.Command][f.Name]
			}
			return has[giver][f.Name] || slices.ContainsFunc(mentioned, func(m []string) bool { return has[m[1]][f.Name] })
		}
		flags := a.NamedFlags(x.says)
		n += len(flags)
		commands := giversOf(x.file)
		for _, f := range flags {
			if commands == nil && !slices.ContainsFunc(a.Commands, func(cmd cli.Command) bool { return belongs(f, cmd.Name, x.says) }) {
				wrong = append(wrong, f.Command+" --"+f.Name)
			}
		}
		for _, c := range commands {
			if !slices.ContainsFunc(flags, func(f cli.NamedFlag) bool { return !belongs(f, c, x.says) }) {
				continue
			}
			says := a.InWordsOf(c, "", x.says)
			for _, f := range a.NamedFlags(says) {
				if !belongs(f, c, says) {
					wrong = append(wrong, c+" --"+f.Name)
				}
			}
			if m := key.FindStringSubmatch(says); m != nil && !slices.ContainsFunc(a.Schema()[m[1]], func(s *plugin.Setting) bool { return s.Name == m[2] }) {
				wrong = append(wrong, c+": "+m[0])
			}
		}
		if wrong != nil {
			slices.Sort(wrong)
			t.Errorf("%s: %q:\n\t%s", x.place, slices.Compact(wrong), x.says)
		}
	}
	if n < 500 {
		t.Errorf("only %d flags were found", n)
	}
}

// TestAdviceInWordsOfACommand checks that a command without a flag names the key of the
// section that has it, and that flags after another command's name stay.
func TestAdviceInWordsOfACommand(t *testing.T) {
	for _, c := range []struct{ command, of, text, want string }{
		{"rollout", "", "name it with --model", "name it with --model"},
		{"train", "", "lower --concurrency", "lower rollout.concurrency (SECTION.KEY: in the config file, or with --set SECTION.KEY=VALUE)"},
		{"train", "score: x", "set --concurrency 4", "--set score.concurrency=4"},
		{"train", "", "sample anew: rollout --policy RECEIPT --overwrite", "sample anew: rollout --policy RECEIPT --overwrite"},
		{"train", "epoch 1: submit: x", "allow them: --max-staleness N, or name another --root", "allow them: --set submit.max-staleness=N, or name another --root"},
		{"check", "", "check --examples and --unstructured", "check rollout.examples and --set rollout.unstructured=true"},
		{"try", "rollout: failed", "leave --unstructured out", "leave rollout.unstructured out (SECTION.KEY: in the config file, or with --set SECTION.KEY=VALUE)"},
		{"group", "", "raise rollout --generations, or --nothing", "raise rollout --generations, or --nothing"},
	} {
		if got := app().InWordsOf(c.command, c.of, c.text); got != c.want {
			t.Errorf("%s: %q:\n%q, want\n%q", c.command, c.text, got, c.want)
		}
	}
}

// TestEachHintIsFollowed checks that each hint which names a command or a flag is followed by
// a line of a script, or is on the list of those that are not.
func TestEachHintIsFollowed(t *testing.T) {
	scripts, err := filepath.Glob("../../testdata/script/hints*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var follows []string
	for _, name := range scripts {
		script, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^follow [0-9]+ '((?:[^']|'')+)' `).FindAllSubmatch(script, -1) {
			follows = append(follows, strings.ReplaceAll(string(m[1]), "''", "'"))
		}
	}
	list, err := os.ReadFile("../../testdata/hints-not-followed.txt")
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]string{} // the reason, by the hint
	for line := range strings.Lines(string(list)) {
		if reason, hint, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			left[hint] = reason
		}
	}
	variable := regexp.MustCompile(`§|%(?:\[\d\])?[a-z]`)
	seen, followed, reasons := map[string]bool{}, 0, map[string]int{}
	for _, x := range texts(t) {
		says := strings.Join(strings.Fields(x.says), " ")
		if !x.hint || seen[says] || others.MatchString(x.says) || strings.HasSuffix(x.file, "/doc.go") {
			continue
		}
		seen[says] = true
		var parts []string
		for _, part := range variable.Split(says, -1) {
			parts = append(parts, regexp.QuoteMeta(part))
		}
		whole := regexp.MustCompile(strings.Join(parts, ".+"))
		done := slices.ContainsFunc(follows, func(f string) bool { return len(f) > 3 && strings.Contains(says, f) || whole.MatchString(f) })
		reason, listed := left[says]
		switch {
		case done && listed:
			t.Errorf("%s is followed: take it off the list: %s", x.place, says)
		case done:
			followed++
		case listed && strings.Contains(reason, "not followed"):
			t.Errorf("%s: say why no script can follow it, or follow it: %s", x.place, says)
		case listed:
			reasons[reason]++
		case *update:
			left[says] = "not followed yet"
		default:
			t.Errorf("%s: no test follows this hint: add a line to a testdata/script/hints*.txtar: %s", x.place, says)
		}
	}
	for hint := range left {
		if !seen[hint] {
			t.Errorf("no text gives this hint: take it off the list: %s", hint)
		}
	}
	if *update {
		var lines []string
		for hint, reason := range left {
			lines = append(lines, reason+"\t"+hint+"\n")
		}
		slices.Sort(lines)
		if err := os.WriteFile("../../testdata/hints-not-followed.txt", []byte(strings.Join(lines, "")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d hints are followed; not followed: %v", followed, reasons)
}
