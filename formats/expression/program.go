package expression

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// The bounds of one evaluation. A step is one element that a function such as
// sum or filter passes to its condition; nested, they multiply. maxTime is for
// steps that take long each, far above what the other bounds allow: a row's
// value must not depend on the machine's load.
const (
	maxSteps = 5_000_000
	maxText  = 16 << 20 // bytes of a text that reduce or replace makes
	maxTime  = 20 * time.Second

	stepsPerLook = 64 // at the clock and the context
)

// ErrOverBudget is the error of an evaluation that takes too long or makes too large a value.
var ErrOverBudget = errors.New("the expression is over its budget")

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	*vm.Program // as written; what runs also counts its steps

	text     string
	env      any
	options  []expr.Option
	keys     keys
	machines sync.Pool // of *machine
}

// Compile compiles an expression over the fields of env, a struct.
func Compile(text string, env any, options ...expr.Option) (*Program, error) {
	options = append(options, expr.Env(env), expr.DisableBuiltin("replace"), replacing)
	for _, name := range unsteady {
		options = append(options, expr.DisableBuiltin(name))
	}
	p, err := expr.Compile(text, options...)
	if err != nil {
		return nil, err
	}
	out := &Program{Program: p, text: text, env: env, options: options, keys: keys{}}
	m, err := out.machine()
	if err != nil {
		return nil, err
	}
	out.machines.Put(m)
	return out, nil
}

// Condition is Compile for an expression whose value is true or false.
func Condition(text string, env any) (*Program, error) { return Compile(text, env, expr.AsBool()) }

// Run evaluates the expression. If it takes too many steps, the error wraps
// ErrOverBudget; soon after ctx ends, it is the context's.
func (p *Program) Run(ctx context.Context, env any) (any, error) {
	e, err := p.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer e.End()
	return e.Run(env)
}

// Evaluations evaluate an expression over many inputs, in one goroutine.
type Evaluations struct {
	p *Program
	m *machine
}

// Begin begins evaluations. The caller must end them.
func (p *Program) Begin(ctx context.Context) (*Evaluations, error) {
	m, _ := p.machines.Get().(*machine)
	if m == nil {
		var err error
		if m, err = p.machine(); err != nil {
			return nil, err
		}
	}
	m.ctx = ctx
	return &Evaluations{p, m}, nil
}

// Run evaluates the expression, as the program's Run does.
func (e *Evaluations) Run(env any) (any, error) {
	m := e.m
	m.steps, m.began, m.ended = 0, time.Time{}, nil
	out, err := m.vm.Run(m.program, env)
	if m.ended != nil {
		return nil, m.ended
	}
	return out, err
}

func (e *Evaluations) End() {
	e.m.ctx = nil
	e.p.machines.Put(e.m)
}

// machine evaluates one expression at a time and counts its steps.
type machine struct {
	vm      vm.VM
	program *vm.Program
	ctx     context.Context
	steps   int
	began   time.Time
	ended   error // why the evaluation was ended
}

const stepName = "__step"

func (p *Program) machine() (*machine, error) {
	m := &machine{}
	options := append(p.options[:len(p.options):len(p.options)], expr.Patch(counting{}), expr.Patch(lengthsIn(p.env)), expr.Patch(p.keys),
		expr.Function(hadName, p.keys.note, new(func(string, bool) bool)), expr.Function(stepName, m.step, new(func() bool), new(func(any) bool)))
	var err error
	m.program, err = expr.Compile(p.text, options...)
	return m, err
}

// step counts a step, and ends an evaluation that exceeds its bounds. The
// argument is the value that reduce has made so far.
func (m *machine) step(args ...any) (any, error) {
	m.steps++
	switch {
	case m.steps > maxSteps:
		m.ended = fmt.Errorf("%w: it takes more than %d steps", ErrOverBudget, maxSteps)
	case len(args) > 0 && tooLong(args[0]):
		m.ended = fmt.Errorf("%w: it makes a text of more than %d bytes", ErrOverBudget, maxText)
	case m.steps%stepsPerLook == 0 && m.began.IsZero():
		m.began = time.Now()
	case m.steps%stepsPerLook == 0 && time.Since(m.began) > maxTime:
		m.ended = fmt.Errorf("%w: it takes more than %s", ErrOverBudget, maxTime)
	}
	if m.steps%stepsPerLook == 0 && m.ctx.Err() != nil {
		m.ended = context.Cause(m.ctx)
	}
	return true, m.ended
}

func tooLong(v any) bool {
	text, ok := v.(string)
	return ok && len(text) > maxText
}

// counting makes every condition count a step before it is evaluated.
type counting struct{}

func (counting) Visit(node *ast.Node) {
	call, ok := (*node).(*ast.BuiltinNode)
	if !ok {
		return
	}
	for _, arg := range call.Arguments {
		p, ok := arg.(*ast.PredicateNode)
		if !ok {
			continue
		}
		step := &ast.CallNode{Callee: &ast.IdentifierNode{Value: stepName}}
		if call.Name == "reduce" {
			step.Arguments = []ast.Node{&ast.PointerNode{Name: "acc"}}
		}
		p.Node = &ast.SequenceNode{Nodes: []ast.Node{step, p.Node}}
	}
}

// replacing is the function replace with a bounded result.
var replacing = expr.Function("replace", func(args ...any) (any, error) {
	text, old, new, n := args[0].(string), args[1].(string), args[2].(string), -1
	if len(args) > 3 {
		n = args[3].(int)
	}
	count := strings.Count(text, old)
	if n >= 0 {
		count = min(count, n)
	}
	if more := len(new) - len(old); more > 0 && count > (maxText-min(len(text), maxText))/more {
		return nil, fmt.Errorf("%w: replace makes a text of more than %d bytes", ErrOverBudget, maxText)
	}
	return strings.Replace(text, old, new, n), nil
}, new(func(string, string, string) string), new(func(string, string, string, int) string))
