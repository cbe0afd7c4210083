package inspect

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/plural"
)

// WriteText writes the difference as text.
func (d *Difference) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	line("a", "%s", d.A)
	line("b", "%s", d.B)
	if d.Reward != "" {
		line("reward", "%s", d.Reward)
	}
	line("rows", "%d: %d compared, %d gained a value, %d lost their value, %d have none in both", d.Rows, d.Compared,
		d.Gained, d.Lost, d.Neither)
	line("moved", "%d of %d: %d up, %d down", d.Moved, d.Compared, d.Up, d.Down)
	for _, why := range slices.Sorted(maps.Keys(d.LostTo)) {
		line("lost to", "%s %d", why, d.LostTo[why])
	}
	line("mean", "%s -> %s, movement %s", float(d.MeanA), float(d.MeanB), float(d.MeanMovement))
	line("change", "%s", d.change())
	line("solved", "%d -> %d of %s, %d flipped (a reward of at least %v)", d.SolvedA, d.SolvedB,
		plural.Of(d.Groups, "group"), d.Flipped, d.SolvedThreshold)
	line("rank correlation", "%s (Spearman)", float(d.Spearman))
	line("groups", "%d: flat %d -> %d; %d became flat, %d stopped being flat", d.Groups, d.FlatA, d.FlatB, d.BecameFlat,
		d.StoppedFlat)
	line("advantages", "%d changed sign, %d became 0, %d were 0", d.SignFlipped, d.SignToZero, d.SignFrom0)
	if len(d.Movers) > 0 {
		fmt.Fprintln(out, "\nrow\texample\tgeneration\ta\tb\tanswer")
	}
	for _, m := range d.Movers {
		fmt.Fprintf(out, "%d\t%s\t%d\t%.4g\t%.4g\t%s\n", m.Row, short(m.ExampleID), m.Generation, m.A, m.B, short(m.Answer))
	}
	return out.Flush()
}

// change returns the change of the mean, with its band of 95 %.
func (d *Difference) change() string {
	if d.MeanA == nil {
		return float(nil)
	}
	text := fmt.Sprintf("%+.4g", *d.MeanB-*d.MeanA)
	if d.ChangeStdErr != nil {
		text += fmt.Sprintf(" ± %.2g", Z95**d.ChangeStdErr)
	}
	return text
}

func float(v *float64) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprintf("%.4g", *v)
}

// short returns the beginning of a text, on one line.
func short(text string) string {
	text = Line(text)
	if runes := []rune(text); len(runes) > cellWidth {
		return string(runes[:cellWidth-1]) + "…"
	}
	return text
}
