package expression

import (
	"reflect"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
)

// LengthOf begins the names of fields of an environment that say how many characters
// another field has: len(answer) reads the field "__len_answer", if there is one,
// which costs less than to hand over the text and to count it then.
const LengthOf = "__len_"

// lengths replaces the calls of len for which the environment has such a field.
type lengths map[string]bool

func lengthsIn(env any) lengths {
	l := lengths{}
	t := reflect.TypeOf(env)
	if t == nil || t.Kind() != reflect.Struct {
		return l
	}
	for _, f := range reflect.VisibleFields(t) {
		l[f.Tag.Get("expr")] = true
	}
	return l
}

func (l lengths) Visit(node *ast.Node) {
	if name := LengthIn(*node); name != "" && l[LengthOf+name] {
		ast.Patch(node, &ast.IdentifierNode{Value: LengthOf + name})
	}
}

// LengthIn returns x of len(x), "" for another node.
func LengthIn(node ast.Node) string {
	call, is := node.(*ast.BuiltinNode)
	if !is || call.Name != "len" || len(call.Arguments) != 1 {
		return ""
	}
	if of, is := call.Arguments[0].(*ast.IdentifierNode); is {
		return of.Value
	}
	return ""
}

// Length returns what len returns for a text: the number of its characters. It is
// faster where these are of one byte.
func Length(text string) int {
	i := 0
	for i+8 <= len(text) && eight(text[i:])&0x8080808080808080 == 0 {
		i += 8
	}
	return i + utf8.RuneCountInString(text[i:])
}

func eight(t string) uint64 {
	_ = t[7]
	return uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 | uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
}
