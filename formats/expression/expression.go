// Package expression compiles the expressions that users write in the language
// of expr-lang/expr: rewards, filters, group keys. An expression ends within
// bounds, reads only its input, and always gives the same value. The caller of
// Compile decides what it may read. Filter is the filter of every command with a
// flag --where.
package expression

import (
	"github.com/expr-lang/expr/ast"
)

// unsteady are functions that do not always give the same value: the time, and
// those that list a map's entries.
var unsteady = []string{"now", "keys", "values", "toPairs"}

// Reads returns a function that reports whether a program reads a field of its
// environment, by the field's name in expressions.
func Reads(p *Program) func(name string) bool {
	m := mentions{}
	root := p.Node()
	ast.Walk(&root, m)
	return func(name string) bool { return m[name] || m["$env"] }
}

type mentions map[string]bool

func (m mentions) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.IdentifierNode); ok {
		m[n.Value] = true
	}
}
