package expression

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/expr-lang/expr/ast"
)

// keys are those that an expression reads of maps by name, as written, such as metadata.kind.
type keys map[string]*atomic.Int32

const (
	asked = iota + 1 // of inputs that all lacked the key
	had              // of one that has it

	hadName = "__had"
)

// note is what an expression calls with each answer.
func (k keys) note(args ...any) (any, error) {
	if args[1].(bool) {
		k[args[0].(string)].Store(had)
	} else {
		k[args[0].(string)].CompareAndSwap(0, asked)
	}
	return args[1], nil
}

// Visit makes NaN of a name that a map of numbers lacks: it is neither above nor below any number, and not 0. It has
// names noted, except those with a default (??).
func (k keys) Visit(node *ast.Node) {
	if or, is := (*node).(*ast.BinaryNode); is && or.Operator == "??" {
		if c, is := or.Left.(*ast.ConditionalNode); is {
			if call, is := c.Cond.(*ast.CallNode); is && call.Callee.String() == hadName {
				c.Cond, c.Exp2 = call.Arguments[1], &ast.NilNode{}
			}
		}
	}
	m, is := (*node).(*ast.MemberNode)
	if !is || m.Node.Type() == nil || m.Node.Type().Kind() != reflect.Map {
		return
	}
	_, named := m.Property.(*ast.StringNode)
	number := m.Node.Type().Elem().Kind() == reflect.Float64
	if !named && !number {
		return
	}
	c := &ast.ConditionalNode{Cond: &ast.BinaryNode{Operator: "in", Left: m.Property, Right: m.Node}, Exp1: m, Exp2: &ast.NilNode{}}
	if number {
		c.Exp2 = &ast.ConstantNode{Value: math.NaN()}
	}
	if named {
		text := m.String()
		if k[text] == nil {
			k[text] = new(atomic.Int32)
		}
		c.Cond = &ast.CallNode{Callee: &ast.IdentifierNode{Value: hadName}, Arguments: []ast.Node{&ast.StringNode{Value: text}, c.Cond}}
	}
	ast.Patch(node, c)
}

// Absent returns the keys that the expression read of maps and that no input had, such as metadata.kind: a
// misspelt name, perhaps. One with a default (??) is not among them.
func (p *Program) Absent() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name, state := range maps.All(p.keys) {
			if state.Load() == asked && !yield(name) {
				return
			}
		}
	})
}
