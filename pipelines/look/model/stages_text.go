package model

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

func (a Appearance) String() string { return fmt.Sprintf("%s, row %d", a.URI, a.Row) }

// summary returns the group's statistics in one line, "" if they are not known.
func (g *Grouped) summary() string {
	if g.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s, %d valid; rewards %s to %s, mean %s, deviation %s", text.Line(g.GroupID), plural.Of(g.Count, "member"),
		g.Valid, text.Exact(g.Min), text.Exact(g.Max), text.Exact(g.Mean), text.Exact(g.StdPop))
}

func (g *Grouped) Text(b *strings.Builder) {
	fmt.Fprintf(b, "\ngroup     %s\n", g.Appearance)
	fmt.Fprintf(b, "          %s\n", g.summary())
	fmt.Fprintf(b, "          advantage %s%s", text.Exact(g.Advantage), text.Because(g.NoAdvantage, ""))
	if g.Estimator != "" {
		fmt.Fprintf(b, " (%s, compat %s)", g.Estimator, g.Compat)
	}
	b.WriteString("\n")
	WriteMessages(b, g.Messages)
	if n, m := len(g.ChosenOver), len(g.RejectedFor); n+m > 0 {
		fmt.Fprintf(b, "          in %s: chosen in %d, rejected in %d\n", plural.Of(n+m, "pair"), n, m)
	}
}

func (c *Curated) Text(b *strings.Builder) {
	fmt.Fprintf(b, "\ncurate    %s\n", c.URI)
	if c.Kept {
		fmt.Fprintf(b, "          kept by %s\n", cmp.Or(strings.Join(c.Rules, ", "), "-"))
		return
	}
	fmt.Fprintf(b, "          dropped: %s%s\n", text.Line(c.Reason), text.Because("", c.Detail))
}

func WriteMessages(b *strings.Builder, all []OfMessage) {
	for _, x := range all {
		fmt.Fprintf(b, "          message %d: %s %.6g", x.Message, text.Line(x.Name), x.Value)
		if x.Tokens > 0 {
			fmt.Fprintf(b, ", the mean of %s", plural.Of(x.Tokens, "token"))
		}
		b.WriteString("\n")
	}
}

// String returns a component as one line.
func (c Component) String() string {
	return fmt.Sprintf("%s = %s, weight %g%s", text.Line(c.Name), text.Exact(c.Value), c.Weight,
		text.Because(c.Failure, cmp.Or(c.Error, c.Reason)))
}
