package group

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/plural"
)

// String returns a figure for people.
func (f Figure) String() string {
	if f != f {
		return "null"
	}
	return fmt.Sprintf("%.4g", float64(f))
}

// WriteText writes the comparison as tables.
func (c *Comparison) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name string, cells ...any) {
		fmt.Fprint(out, name)
		for _, cell := range cells {
			fmt.Fprintf(out, "\t%v", cell)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "scores\t%s\nrows\t%d in %s\n\n", c.In, c.Rows, plural.Of(c.Groups, "group"))
	line("", "no", "flat", "mass of the", "mass by share solved")
	fmt.Fprintf(out, "estimator\tadvantage\tgroups\ttop 10 %%\t%s\n", strings.Join(classes, "\t"))
	for _, e := range c.Estimators {
		cells := []any{e.Null, fmt.Sprintf("%d of %d", e.Flat, e.Groups), e.TopTenth}
		for _, class := range e.Classes {
			cells = append(cells, class.Mass)
		}
		line(e.Name, cells...)
	}
	if len(c.Pairs) > 0 {
		line("\npair", c.Unit+"s", "signs differ", "rank correlation")
	}
	for _, p := range c.Pairs {
		line(p.A+", "+p.B, int64(p.Compared), p.SignDiffers, p.Spearman)
	}
	if s := c.Simulation; s != nil {
		line(fmt.Sprintf("\n%d generations", s.N), "flat groups", "of all generations", "signs differ", "rank correlation")
		for _, e := range c.Estimators {
			line(e.Name, e.Cut.FlatB, e.Cut.FlatA, e.Cut.SignDiffers, e.Cut.Spearman)
		}
		fmt.Fprintf(out, "(means of %d draws; left out: %s)\n", s.Repeats, plural.Of(s.Small, "smaller group"))
	}
	return out.Flush()
}
