package eval

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/paired"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// WriteText writes the comparison as text, its result first.
func (c *Comparison) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "result\t%s\n", c.verdict())
	c.A.writeText(out, "a")
	c.B.writeText(out, "b")
	fmt.Fprintf(out, "examples\t%d with a reward on both sides\n", c.Examples)
	if c.Examples > 0 {
		fmt.Fprintf(out, "mean reward\t%.4g -> %.4g, difference %s, p %s\n", *c.MeanA, *c.MeanB,
			c.Difference.text(), text.Float(c.P))
		fmt.Fprintf(out, "with failures\tdifference %s, each attempt without a reward at the lowest one\n",
			text.Float(c.WithFailures))
		fmt.Fprintf(out, "examples by mean\t%d better in b, %d worse, %d equal\n", c.Wins, c.Losses, c.Ties)
		fmt.Fprintf(out, "flips\t%d solved in b only, %d in a only, p %s (McNemar), at a reward of %g or more\n",
			c.Gained, c.Lost, text.Float(c.McNemar), c.Solved)
	}
	if c.Tokens != nil {
		fmt.Fprintf(out, "tokens\tdifference of an attempt %s\n", c.Tokens.text())
	}
	if c.Seconds != nil {
		fmt.Fprintf(out, "seconds\tdifference of an attempt %s\n", c.Seconds.text())
	}
	if c.Cost != nil {
		fmt.Fprintf(out, "cost\tdifference of an attempt's calls %s, of %s where all is known\n", c.Cost.text(),
			plural.Of(c.Cost.Examples, "example"))
	} else if c.A.Money != nil && c.B.Money != nil {
		fmt.Fprintln(out, "cost\tdifference not known: no example has a price and the usage of all calls on both sides")
	}
	fmt.Fprintf(out, "bands\t%g %%, of %d resamples of the examples; p of a permutation test\n", 100*c.Confidence,
		paired.Resamples)
	writePaired(out, "reward", c.Rewards, func(p *Paired) string { return p.Name })
	for i := 0; i < len(c.Slices); {
		end := i + 1
		for end < len(c.Slices) && c.Slices[end].Field == c.Slices[i].Field {
			end++
		}
		writePaired(out, c.Slices[i].Field, c.Slices[i:end], func(p *Paired) string { return cmp.Or(p.Value, "(none)") })
		i = end
	}
	return out.Flush()
}

func (c *Comparison) verdict() string {
	if c.Better == "" {
		return "not decided: " + c.Why
	}
	return c.Better + " is better"
}

func (s *Side) writeText(w io.Writer, name string) {
	fmt.Fprintf(w, "%s\t%s", name, s.Scores)
	if s.Model != "" {
		fmt.Fprintf(w, " (%s)", s.Model)
	}
	fmt.Fprintf(w, ": %s, %d failed, %d without a reward\n", plural.Of(s.Trajectories, "trajectory"), s.Failed, s.Unscored)
	if total, parts := s.Money.Text(); total != "" {
		fmt.Fprintf(w, "\tcost of all %s: %s\n", total, parts)
	}
	for _, l := range []struct {
		what string
		ids  []string
	}{{"not attempted", s.Missing}, {"no reward", s.NoReward}} {
		if n := len(l.ids); n > 0 {
			ids := make([]string, min(n, maxNamed))
			for i := range ids {
				ids[i] = excerpt.Start(text.Line(l.ids[i]), 32)
			}
			fmt.Fprintf(w, "\t%s here, and in no figure: %s (%s)\n", l.what, plural.Of(n, "example"), strings.Join(ids, ", "))
		}
	}
}

func writePaired(w io.Writer, head string, all []Paired, name func(*Paired) string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\texamples\tdifference\tp\tp (Holm)\tb better, worse\tflips\tresult\n", head)
	for i := range all {
		p := &all[i]
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%d, %d\t%d, %d\t%s\n", text.Line(name(p)), p.Examples,
			p.Difference.text(), text.Float(p.P), text.Float(p.PHolm), p.Wins, p.Losses, p.Gained, p.Lost,
			cmp.Or(p.Better, "not decided"))
	}
}
