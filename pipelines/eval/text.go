package eval

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// maxNamed is the most examples that a line names, maxTable the most that have a table.
const maxNamed, maxTable = 10, 20

func (r *Result) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "scores\t%s\n", r.Scores)
	if r.Model != "" {
		fmt.Fprintf(out, "model\t%s\n", r.Model)
	}
	fmt.Fprintf(out, "examples\t%d, %s: %d failed, %d without a reward\n", r.Examples, plural.Of(r.Trajectories, "trajectory"),
		r.Failed, r.Unscored)
	fmt.Fprintf(out, "mean reward\t%s\n", r.Mean.text())
	fmt.Fprintf(out, "spread\tstd %s, within an example %s, from %s to %s\n", text.Float(r.Std), text.Float(r.Within), text.Float(r.Min),
		text.Float(r.Max))
	fmt.Fprintf(out, "solved\t%s, at a reward of %g or more\n", r.Figures.Solved.text(), r.Solved)
	if r.TokensPerSolve != nil {
		fmt.Fprintf(out, "for one solved\t%.0f tokens, %.3g s\n", *r.TokensPerSolve, *r.SecondsPerSolve)
	}
	if total, parts := r.Money.Text(); total != "" {
		fmt.Fprintf(out, "cost of all\t%s: %s\n", total, parts)
	}
	for _, p := range r.PassAtK {
		fmt.Fprintf(out, "pass@%d\t%s", p.K, p.text())
		if p.LeftOut > 0 {
			fmt.Fprintf(out, ", without %d examples that have fewer attempts", p.LeftOut)
		}
		fmt.Fprintln(out)
	}
	r.writePassed(out)
	fmt.Fprintf(out, "intervals\t%g %%, over the examples; of one example, over its attempts\n", 100*r.Confidence)
	if len(r.Rewards) > 0 {
		fmt.Fprintln(out, "\nreward\tmean\tstd\tno value")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Rewards)) {
		f := r.Rewards[name]
		fmt.Fprintf(out, "%s\t%s\t%s\t%d\n", name, f.Mean.text(), text.Float(f.Std), f.Unscored)
	}
	r.writeExamples(out)
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
		fmt.Fprintf(out, "%s\t%d\t%s\t%s", cmp.Or(text.Line(s.Value), "(none)"), s.Examples, s.Mean.text(), s.Figures.Solved.text())
		for _, p := range r.PassAtK {
			fmt.Fprintf(out, "\t%s", s.at(p.K))
		}
		fmt.Fprintf(out, "\t%s\t%s\n", text.Float(s.TokensPerSolve), text.Float(s.SecondsPerSolve))
	}
	return out.Flush()
}

// writePassed writes which examples all attempts solved, and which none.
func (r *Result) writePassed(w io.Writer) {
	for share, name := range slices.Backward([]string{"never passed", "always passed"}) {
		var ids []string
		for _, f := range r.ByExample {
			if f.Attempts > 0 && f.Solved == share*f.Attempts {
				ids = append(ids, excerpt.Start(text.Line(f.ID), 32))
			}
		}
		n := len(ids)
		if n > maxNamed {
			ids = append(ids[:maxNamed], "…")
		}
		text := fmt.Sprintf("%d of %d (%s)", n, r.Examples, strings.Join(ids, ", "))
		fmt.Fprintf(w, "%s\t%s\n", name, strings.TrimSuffix(text, " ()"))
	}
}

// writeExamples writes a table of the examples, unless there are many.
func (r *Result) writeExamples(w io.Writer) {
	if len(r.ByExample) == 0 || len(r.ByExample) > maxTable {
		return
	}
	fmt.Fprint(w, "\nexample\tfailed\tsolved")
	for _, p := range r.ByExample[0].PassAtK {
		fmt.Fprintf(w, "\tpass@%d", p.K)
	}
	fmt.Fprintln(w, "\ttokens\tseconds")
	for _, f := range r.ByExample {
		fmt.Fprintf(w, "%s\t%d\t%d of %d [%s, %s]", excerpt.Start(text.Line(f.ID), 32), f.Failed, f.Solved, f.Attempts,
			text.Float(f.Low), text.Float(f.High))
		for _, p := range f.PassAtK {
			fmt.Fprintf(w, "\t%s", text.Float(p.Value))
		}
		fmt.Fprintf(w, "\t%s\t%s\n", text.Float(f.Tokens), text.Float(f.Seconds))
	}
}

func (s *Slice) at(k int) string {
	i := slices.IndexFunc(s.PassAtK, func(p PassAtK) bool { return p.K == k })
	if i < 0 {
		return "null"
	}
	return s.PassAtK[i].text()
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
