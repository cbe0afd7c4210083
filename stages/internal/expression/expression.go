// Package expression compiles what users write in the language of
// expr-lang/expr: rewards, filters, what to group by. An expression ends
// within bounds, touches nothing but what it is given, and gives the same value every
// time. What it may read is said by who compiles it.
package expression

import (
	"github.com/expr-lang/expr/ast"
)

// unsteady are functions that do not give the same value every time: the time,
// and those that list a map's entries.
var unsteady = []string{"now", "keys", "values", "toPairs"}

// Reads returns what tells whether a program reads a field of its
// environment, by the name that the expression has for it.
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
