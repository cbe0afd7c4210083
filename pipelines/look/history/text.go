package history

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// WriteTable prints a line per epoch, and below what was handed over as sequences
// and the advice.
func (r Run) WriteTable(w io.Writer) error {
	names, scores := namedRewards(r.Epochs), ScoreNames(r.Epochs)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var priced []string // a column if there are prices
	if r.Money != nil {
		priced = []string{"cost"}
	}
	heading := func(before string) func(string) string { return func(name string) string { return before + name } }
	fmt.Fprintf(t, "epoch\ttrajectories\tfailed\tgroups\tflat\tkept\tcurriculum\treward\tkept "+
		"reward\tvalidation\t%s%sstep\tsubmission\t%s\n", cells(names, heading("validation ")),
		cells(scores, heading("reward ")), cells(priced, func(name string) string { return name }))
	for _, e := range r.Epochs {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s%s%s\t%s\t%s\n", e.Epoch,
			cell(e.Train, func(s *Sample) int64 { return s.Trajectories }),
			cell(e.Train, func(s *Sample) int64 { return s.Failed }),
			cell(e.Train, func(s *Sample) int64 { return s.Groups }), e.Flat,
			cell(e.Kept, func(s *Sample) int64 { return s.Trajectories }),
			cell(e.Curriculum, func(c *Curriculum) string { return fmt.Sprintf("%.0f %%", 100*c.Share) }),
			text.Number(meanOf(e.Train)), text.Number(meanOf(e.Kept)), text.Number(meanOf(e.Validation)),
			cells(names, func(name string) string { return text.Number(e.Validation.Only(name).Mean) }),
			cells(scores, func(name string) string { return text.Number(meanOf(e.Scores[name])) }), step(e),
			cell(e.Receipt, func(r *receipts.Receipt) string { return r.State }),
			cells(priced, func(string) string { total, _ := e.Money.Text(); return total }))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var lines []string
	for _, e := range r.Epochs {
		lines = append(lines, e.Handed()...)
	}
	if total, parts := r.Money.Text(); total != "" {
		lines = append(lines, fmt.Sprintf("cost %s: %s", total, parts))
	}
	for _, line := range append(lines, r.Advice...) {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// Line returns an epoch as one line: the mean reward, the mean reward of held-out
// examples, the kept trajectories, the trainer's step and the seconds of all
// stages.
func (e Epoch) Line() string {
	return fmt.Sprintf("epoch %d: reward %s, validation %s, kept %s of %s, step %s, %.1f s", e.Epoch, text.Number(meanOf(e.Train)),
		text.Number(meanOf(e.Validation)),
		cell(e.Kept, func(s *Sample) int64 { return s.Trajectories }),
		cell(e.Train, func(s *Sample) int64 { return s.Trajectories }), step(e), e.Total())
}

// Handed returns a line for the files of sequences that were submitted: whether all
// sampled tokens are in them. Another is about what the trainer gave back.
func (e Epoch) Handed() (lines []string) {
	if e.Receipt == nil {
		return nil
	}
	for _, line := range sequences.Texts(e.Receipt.Sequences) {
		lines = append(lines, fmt.Sprintf("epoch %d, %s", e.Epoch, line))
	}
	if e.Apart != nil {
		lines = append(lines, fmt.Sprintf("epoch %d: the trainer's log probabilities are %+.2g nats above the engine's; where, "+
			"`rollmill audit EPOCH --mismatch trainer` says", e.Epoch, *e.Apart))
	}
	return lines
}

// namedRewards returns the named rewards of held-out examples. A single one is the
// total reward and needs no column.
func namedRewards(epochs []Epoch) []string {
	names := PartsOf(epochs, Validation)
	if len(names) < 2 {
		return nil
	}
	return slices.Sorted(maps.Keys(names))
}

// cells returns a cell for each name.
func cells(names []string, of func(name string) string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(of(n) + "\t")
	}
	return b.String()
}

// cell returns a figure of a value, or a dash for nil.
func cell[T, V any](v *T, of func(*T) V) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(of(v))
}

func step(e Epoch) string {
	return cell(e.Receipt, func(r *receipts.Receipt) string { return text.Or(r.StepAfter, "%d", "-") })
}
