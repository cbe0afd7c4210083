package diff

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/pipelines/look/clusters"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// WriteText writes the difference as text.
func (d *Difference) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	if len(d.Epochs) > 0 {
		fmt.Fprintln(out, "epoch\tcompared\ta\tb\tchange\tmoved\tlost\tflat\tsigns\tflipped")
		for _, e := range d.Epochs {
			fmt.Fprintf(out, "%d\t%d\t%s\t%s\t%s\t%d\t%d\t%d -> %d\t%d\t%d\n", e.Epoch, e.Compared, text.Float(e.MeanA),
				text.Float(e.MeanB), e.change(), e.Moved, e.Lost, e.FlatA, e.FlatB, e.SignFlipped, e.Flipped)
		}
		line("\nepochs", "%d added up; not in both: %s", len(d.Epochs), text.JSON(d.Absent))
	}
	line("a", "%s", d.A)
	line("b", "%s", d.B)
	if d.Same {
		line("same", "a and b are one dataset: there is nothing to compare")
	}
	if d.Reward != "" {
		line("reward", "%s", d.Reward)
	}
	line("rows", "%d: %d compared, %d gained a value, %d lost their value, %d have none in both", d.Rows, d.Compared,
		d.Gained, d.Lost, d.Neither)
	line("moved", "%d of %d: %d up, %d down", d.Moved, d.Compared, d.Up, d.Down)
	line("flipped", "%d of %d: solved on one side only", d.FlippedRows, d.Compared)
	for _, why := range slices.Sorted(maps.Keys(d.LostTo)) {
		line("lost to", "%s %d", why, d.LostTo[why])
	}
	for _, why := range slices.Sorted(maps.Keys(d.GainedFrom)) {
		line("gained from", "%s %d", why, d.GainedFrom[why])
	}
	line("mean", "%s -> %s, change %s, movement %s", text.Float(d.MeanA), text.Float(d.MeanB), d.change(), text.Float(d.MeanMovement))
	line("rank correlation", "%s (Spearman)", text.Float(d.Spearman))
	line("groups", "%d: flat %d -> %d; %d became flat, %d stopped being flat", d.Groups, d.FlatA, d.FlatB, d.BecameFlat,
		d.StoppedFlat)
	line("examples", "%d flipped: solved on one side only", d.Flipped)
	line("advantages", "%d changed sign, %d became 0, %d were 0", d.SignFlipped, d.SignToZero, d.SignFrom0)
	for _, c := range d.Signals {
		line("signal "+text.Line(c.Component), "%d of %d messages moved, mean change %+.4g", c.Moved, c.Messages, c.MeanChange)
	}
	if len(d.Flips) > 0 {
		fmt.Fprintln(out, "\nepoch\tflipped example\tbest a\tbest b")
	}
	for _, m := range d.Flips {
		fmt.Fprintf(out, "%d\t%s\t%.4g\t%.4g\n", m.Epoch, text.Cell(m.ExampleID), m.A, m.B)
	}
	if len(d.Movers) > 0 {
		fmt.Fprintln(out, "\nepoch\trow\texample\tgeneration\ta\tb\tanswer")
	}
	for _, m := range d.Movers {
		fmt.Fprintf(out, "%d\t%d\t%s\t%d\t%.4g\t%.4g\t%s\n", m.Epoch, m.Row, text.Cell(m.ExampleID), m.Generation, m.A, m.B,
			text.Cell(m.Answer))
	}
	for _, m := range d.Movers {
		if a, b := tail(m.OutputA), tail(m.OutputB); m.Flipped && len(a)+len(b) > 0 {
			fmt.Fprintf(out, "\n%s: %s: a %.4g, b %.4g\n", m.TrajectoryID, text.Line(m.ExampleID), m.A, m.B)
			lines := max(len(a), len(b))
			for i, line := range append(a, make([]string, lines-len(a))...) {
				fmt.Fprintf(out, "%s\t| %s\n", line, append(b, make([]string, lines-len(b))...)[i])
			}
		}
	}
	return out.Flush()
}

// tail returns the last lines of what a test printed, which say what failed.
func tail(output string) (lines []string) {
	for line := range strings.Lines(strings.TrimSpace(output)) {
		lines = append(lines, excerpt.Start(text.Line(strings.TrimRight(line, "\r\n")), 72))
	}
	return lines[max(0, len(lines)-20):]
}

// change returns the change of the mean, with its band of 95 %.
func (d *Difference) change() string {
	if d.MeanA == nil || d.ChangeStdErr == nil {
		return text.Float(nil)
	}
	return fmt.Sprintf("%+.4g ± %.2g", *d.MeanB-*d.MeanA, clusters.Z95**d.ChangeStdErr)
}
