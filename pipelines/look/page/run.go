package page

import (
	"time"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/funnel"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/plot"
)

// Run is a run as pages show it: template "run". The viewer and the report make the same page of
// it; what one of them does not know is left out.
type Run struct {
	Root              string
	Time              time.Time   // of the last rollout
	Notes             []string    // what a reader should know first
	Live              []Hyperlink // rollouts under way
	Tiles, Components []history.Tile
	Figures           []plot.FigureView
	Epochs            []EpochRow
	EpochsLeft        string // which epochs are not among them
	Failures, Drops   []Counted
	Funnel            funnel.Funnel
	Study             *Study
	Others            []Hyperlink // datasets outside of epochs
}

// Hyperlink is a link with what is said of it.
type Hyperlink struct{ Name, URL, Note string }

// EpochRow is a row of the run's table.
type EpochRow struct {
	history.Epoch
	Known bool   // has figures, not only datasets
	URL   string // "" for none
}

// Counted is a name with a number, such as a failure class.
type Counted struct {
	Name string
	N    int64
}

// RunOf returns what the figures of epochs say of their run, without a table of them.
func RunOf(run history.Run) Run {
	out := Run{Root: run.Root, Funnel: run.Funnel}
	if len(run.Epochs) > 0 {
		out.Tiles, out.Components = history.Tiles(run), history.Components(run.Epochs)
	}
	failures, drops := map[string]int64{}, map[string]int64{}
	for _, e := range run.Epochs {
		history.AddCounts(failures, e.Failures)
		history.AddCounts(drops, e.Drops)
	}
	out.Failures, out.Drops = Sorted(failures), Sorted(drops)
	return out
}

// Handed returns what was submitted of the epochs in the table.
func (r Run) Handed() (lines []string) {
	for _, e := range r.Epochs {
		lines = append(lines, e.Epoch.Handed()...)
	}
	return lines
}

// Sorted returns numbers by name, the largest first, without those that are 0.
func Sorted(numbers map[string]int64) []Counted {
	var out []Counted
	for _, name := range plural.Largest(numbers) {
		if n := numbers[name]; n != 0 {
			out = append(out, Counted{name, n})
		}
	}
	return out
}
