package rules

import (
	"math"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// group returns what an expression reads of a group; passes requests a field
// that takes a while to compute.
func group(g curate.Group, passes bool) Group {
	nan := math.NaN()
	out := Group{ID: g.ID, ExampleID: g.ExampleID, Epoch: g.Epoch, Count: g.Count, Valid: g.Valid, Failed: g.Failed,
		Unscored: g.Count - g.Valid - g.Failed,
		Mean:     nan, Std: nan, StdPop: nan, StdSample: nan, Min: nan, Max: nan, Spread: nan, Solved: nan, LengthMean: nan,
		SampledTokens: int(g.SampledTokens)}
	if g.Valid == 0 {
		return out
	}
	n := float64(g.Valid)
	out.Mean, out.Min, out.Max, out.Spread = g.Mean, g.Min, g.Max, g.Max-g.Min
	out.Std, out.StdPop, out.StdSample = g.StdPop, g.StdPop, g.StdPop*math.Sqrt(n/(n-1))
	out.Solved, out.SolvedCount = g.Solved, int(math.Round(g.Solved*n))
	out.LengthMean = float64(g.SampledTokens) / n
	if g.Valid < 2 {
		out.StdSample = nan
	}
	if passes {
		for k := range min(g.Valid, formats.MaxPassAtK) {
			out.PassAtK = append(out.PassAtK, formats.PassAtK(g.Valid, out.SolvedCount, k+1))
		}
	}
	return out
}

// fields returns the names that a program reads of anything but the trajectory.
func fields(p *vm.Program) map[string]bool {
	f := read{}
	root := p.Node()
	ast.Walk(&root, f)
	return f
}

type read map[string]bool

func (f read) Visit(node *ast.Node) {
	m, ok := (*node).(*ast.MemberNode)
	if !ok {
		return
	}
	if of, ok := m.Node.(*ast.IdentifierNode); ok && of.Value == "trajectory" {
		return
	}
	if name, ok := m.Property.(*ast.StringNode); ok {
		f[name.Value] = true
	}
}

func number(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}
