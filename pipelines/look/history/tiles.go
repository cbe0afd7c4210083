package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Tile is a figure at the top of the page, and how it was in each epoch.
type Tile struct {
	Name, Value, Note string
	Trend             Trend
}

// Trend is a value by epoch; NaN is none.
type Trend []float64

// Path returns the trend as the path of an SVG of 120 by 28, "" for fewer than two values.
func (t Trend) Path() string {
	low, high, n := math.Inf(1), math.Inf(-1), 0
	for _, v := range t {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high, n = min(low, v), max(high, v), n+1
		}
	}
	if n < 2 {
		return ""
	}
	if low == high {
		low, high = low-0.5, low+0.5
	}
	var b strings.Builder
	verb := "M"
	for i, v := range t {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			fmt.Fprintf(&b, "%s%.1f,%.1f", verb, 2+116*float64(i)/float64(len(t)-1), 26-24*(v-low)/(high-low))
			verb = "L"
		}
	}
	return b.String()
}

// Tiles returns the figures that matter of a run: rewards now and since the first epoch,
// what was kept and failed, and what it took.
func Tiles(run Run) []Tile {
	var out []Tile
	for name, of := range Sides {
		if t, at := rewardTile(run.Epochs, name, of); at >= 0 {
			t.Name = fmt.Sprintf("%s reward, epoch\u00a0%d", name, at)
			out = append(out, t)
		}
	}
	out = append(out,
		shareTile(run, "Kept", Kept, func(s *Sample) int64 { return s.Trajectories }),
		shareTile(run, "Failed", Train, func(s *Sample) int64 { return s.Failed }))
	var tokens, seconds Trend
	total := 0.0
	trained := slices.ContainsFunc(run.Epochs, func(e Epoch) bool { return e.Train != nil })
	for _, e := range run.Epochs {
		total += e.Total()
		if e.Train == nil && trained { // it only validated, which costs less
			continue
		}
		tokens = append(tokens, float64(e.Cost.Tokens()))
		seconds = append(seconds, e.Total())
	}
	cost := run.Cost()
	if cost.Calls > 0 {
		out = append(out, Tile{"Tokens", text.Compact(cost.Tokens()),
			text.Compact(cost.CompletionTokens) + " sampled, " + text.Thousands(cost.Calls) + " calls", tokens})
	}
	if run.Money != nil {
		total, parts := run.Money.Text()
		out = append(out, Tile{"Cost", total, parts, nil})
	}
	return append(out, Tile{"Time", (time.Duration(math.Round(total)) * time.Second).String(), "all stages", seconds})
}

// rewardTile returns the mean of a sample in the last epoch that has one, and which this is, -1 for none.
func rewardTile(epochs []Epoch, name string, of func(Epoch) *Sample) (t Tile, at int) {
	var first, last *Sample
	since, at := 0, -1
	t.Name = name
	for _, e := range epochs {
		s := of(e)
		if s == nil || s.Mean == nil {
			t.Trend = append(t.Trend, math.NaN())
			continue
		}
		if t.Trend = append(t.Trend, *s.Mean); first == nil {
			first, since = s, e.Epoch
		}
		last, at = s, e.Epoch
	}
	if last == nil {
		return t, at
	}
	t.Value, t.Note = text.Number(last.Mean), text.Half(last.StdErr)
	if first != last {
		t.Note = strings.TrimPrefix(fmt.Sprintf("%s, %+.4f since epoch\u00a0%d", t.Note, *last.Mean-*first.Mean, since), ", ")
	}
	return t, at
}

// shareTile returns a number of trajectories as a share of all.
func shareTile(run Run, name string, of func(Epoch) *Sample, part func(*Sample) int64) Tile {
	var n, all int64
	t := Tile{Name: name, Value: "-", Note: "no trajectories"}
	for _, e := range run.Epochs {
		share := math.NaN()
		if s := of(e); s != nil && e.Train != nil {
			n += part(s)
			share = float64(part(s)) / float64(e.Train.Trajectories)
		}
		if t.Trend = append(t.Trend, share); e.Train != nil {
			all += e.Train.Trajectories
		}
	}
	if all > 0 {
		t.Value = fmt.Sprintf("%.1f\u00a0%%", 100*float64(n)/float64(all))
		t.Note = text.Thousands(n) + " of " + text.Thousands(all)
	}
	return t
}

// maxRewards is how many named rewards are listed.
const maxRewards = 100

// Components returns the named rewards of training, of what was kept, of validation and of
// further scores, by name.
func Components(epochs []Epoch) (out []Tile) {
	sides := map[string]func(Epoch) *Sample{"training": Train, "kept": Kept, "validation": Validation}
	for _, name := range ScoreNames(epochs) {
		sides[name] = ScoresOf(name)
	}
	for side, of := range sides {
		for name := range PartsOf(epochs, of) {
			if t, at := rewardTile(epochs, name+", "+side, func(e Epoch) *Sample { return of(e).Only(name) }); at >= 0 {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, func(a, b Tile) int { return strings.Compare(a.Name, b.Name) })
	return out[:min(len(out), maxRewards)]
}
