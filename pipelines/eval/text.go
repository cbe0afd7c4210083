package eval

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/plural"
)

// WriteText writes the result as text.
func (r *Result) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "scores\t%s\n", r.Scores)
	if r.Model != "" {
		fmt.Fprintf(out, "model\t%s\n", r.Model)
	}
	fmt.Fprintf(out, "examples\t%d, %s: %d failed, %d have no reward\n", r.Examples, plural.Of(r.Trajectories, "trajectory"),
		r.Failed, r.Unscored)
	fmt.Fprintf(out, "mean reward\t%s\n", r.Mean.text())
	fmt.Fprintf(out, "spread\tstd %s, within an example %s, from %s to %s\n", number(r.Std), number(r.Within), number(r.Min),
		number(r.Max))
	fmt.Fprintf(out, "solved\t%s, at a reward of %g or more\n", r.Figures.Solved.text(), r.Solved)
	if r.TokensPerSolve != nil {
		fmt.Fprintf(out, "for one solved\t%.0f tokens, %.3g s\n", *r.TokensPerSolve, *r.SecondsPerSolve)
	}
	for _, p := range r.PassAtK {
		fmt.Fprintf(out, "pass@%d\t%s", p.K, p.text())
		if p.LeftOut > 0 {
			fmt.Fprintf(out, ", without %d examples that have fewer attempts", p.LeftOut)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "intervals\t%g %%, over the examples\n", 100*r.Confidence)
	if len(r.Rewards) > 0 {
		fmt.Fprintln(out, "\nreward\tmean\tstd\tno value")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Rewards)) {
		f := r.Rewards[name]
		fmt.Fprintf(out, "%s\t%s\t%s\t%d\n", name, f.Mean.text(), number(f.Std), f.Unscored)
	}
	field := ""
	for _, s := range r.Slices {
		if s.Field != field {
			field = s.Field
			fmt.Fprintf(out, "\n%s\texamples\tmean\tsolved", field)
			for _, p := range r.PassAtK {
				fmt.Fprintf(out, "\tpass@%d", p.K)
			}
			fmt.Fprintln(out, "\ttokens for one solved\tseconds")
		}
		fmt.Fprintf(out, "%s\t%d\t%s\t%s", s.name(), s.Examples, s.Mean.text(), s.Figures.Solved.text())
		for _, p := range r.PassAtK {
			fmt.Fprintf(out, "\t%s", s.at(p.K))
		}
		fmt.Fprintf(out, "\t%s\t%s\n", number(s.TokensPerSolve), number(s.SecondsPerSolve))
	}
	return out.Flush()
}

func (s *Slice) name() string {
	if s.Value == "" {
		return "(none)"
	}
	return strings.Join(strings.Fields(s.Value), " ")
}

func (s *Slice) at(k int) string {
	for i := range s.PassAtK {
		if s.PassAtK[i].K == k {
			return s.PassAtK[i].text()
		}
	}
	return "null"
}

func (e *Estimate) text() string {
	switch {
	case e == nil:
		return "null"
	case e.Low == nil:
		return fmt.Sprintf("%.4g", e.Value)
	}
	return fmt.Sprintf("%.4g [%.4g, %.4g]", e.Value, *e.Low, *e.High)
}

func number(v *float64) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprintf("%.4g", *v)
}
