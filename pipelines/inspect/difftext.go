package inspect

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// WriteText writes the difference as text.
func (d *Difference) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	if len(d.Epochs) > 0 {
		fmt.Fprintln(out, "epoch\tcompared\ta\tb\tchange\tmoved\tlost\tflat\tsigns\tflipped")
	}
	for _, e := range d.Epochs {
		fmt.Fprintf(out, "%d\t%d\t%s\t%s\t%s\t%d\t%d\t%d -> %d\t%d\t%d\n", e.Epoch, e.Compared, float(e.MeanA), float(e.MeanB),
			e.change(), e.Moved, e.Lost, e.FlatA, e.FlatB, e.SignFlipped, e.Flipped)
	}
	if len(d.Epochs) > 0 {
		line("\nepochs", "%d added up; not in both: %s", len(d.Epochs), asJSON(d.Absent))
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
	line("mean", "%s -> %s, change %s, movement %s", float(d.MeanA), float(d.MeanB), d.change(), float(d.MeanMovement))
	line("rank correlation", "%s (Spearman)", float(d.Spearman))
	line("groups", "%d: flat %d -> %d; %d became flat, %d stopped being flat", d.Groups, d.FlatA, d.FlatB, d.BecameFlat,
		d.StoppedFlat)
	line("examples", "%d flipped: solved on one side only", d.Flipped)
	line("advantages", "%d changed sign, %d became 0, %d were 0", d.SignFlipped, d.SignToZero, d.SignFrom0)
	for _, c := range d.Signals {
		line("signal "+Line(c.Component), "%d of %d messages moved, mean change %+.4g", c.Moved, c.Messages, c.MeanChange)
	}
	if len(d.Flips) > 0 {
		fmt.Fprintln(out, "\nepoch\tflipped example\tbest a\tbest b")
	}
	for _, m := range d.Flips {
		fmt.Fprintf(out, "%d\t%s\t%.4g\t%.4g\n", m.Epoch, short(m.ExampleID), m.A, m.B)
	}
	if len(d.Movers) > 0 {
		fmt.Fprintln(out, "\nepoch\trow\texample\tgeneration\ta\tb\tanswer")
	}
	for _, m := range d.Movers {
		fmt.Fprintf(out, "%d\t%d\t%s\t%d\t%.4g\t%.4g\t%s\n", m.Epoch, m.Row, short(m.ExampleID), m.Generation, m.A, m.B,
			short(m.Answer))
	}
	return out.Flush()
}

// change returns the change of the mean, with its band of 95 %.
func (d *Difference) change() string {
	if d.MeanA == nil || d.ChangeStdErr == nil {
		return float(nil)
	}
	return fmt.Sprintf("%+.4g ± %.2g", *d.MeanB-*d.MeanA, Z95**d.ChangeStdErr)
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
