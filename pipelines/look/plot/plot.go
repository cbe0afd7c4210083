// Package plot draws the figures of runs, as SVG and PNG and for pages: rewards by epoch with
// bands of 95 %, runs beside each other, histograms, and pairs of values.
package plot

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/pipelines/look/clusters"
	"github.com/rollmill/rollmill/pipelines/look/history"
)

// panel is one plot over epochs: the lines of one reward.
type panel struct {
	axis, title, below string
	lines              []line
	first, last        float64
	ticks              plot.Ticker // nil for whole numbers
}

// drawn returns a plot of each panel.
func drawn(all []panel) func(theme) ([]*plot.Plot, error) {
	return func(t theme) (out []*plot.Plot, err error) {
		for _, p := range all {
			x, err := p.plot(t)
			if err != nil {
				return nil, err
			}
			out = append(out, x)
		}
		return out, nil
	}
}

// line is one value by epoch, with its standard error.
type line struct {
	name   string
	ink    int // index into a theme's colours, and the shape of the points
	points []point
}

type point struct{ x, y, err float64 }

// maxPanels is how many named rewards are drawn; the tables have all of them.
const maxPanels = 8

// panels returns the plots of a run. Each reward has its own axis: the total of
// training and that of validation share one only if both are the same rewards with
// the same weights.
func panels(epochs []history.Epoch) []panel {
	trained, validated := history.PartsOf(epochs, history.Train), history.PartsOf(epochs, history.Validation)
	training := []line{totals("training", 0, epochs, history.Train), totals("kept by curate", 2, epochs, history.Kept)}
	held := totals("validation", 1, epochs, history.Validation)
	var out []panel
	if len(trained) == 0 || len(validated) == 0 || maps.Equal(trained, validated) {
		out = append(out, panel{axis: "mean reward", lines: append(training, held)})
	} else {
		out = append(out, panel{axis: "training reward" + single(trained), lines: training},
			panel{axis: "validation reward" + single(validated), lines: []line{held}})
	}
	all := maps.Clone(trained)
	maps.Copy(all, validated)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := panel{axis: excerpt.Start(name, 34)}
		if _, has := trained[name]; has && len(trained) > 1 {
			p.lines = append(p.lines, named("training", 0, name, epochs, history.Train))
		}
		if _, has := validated[name]; has && len(validated) > 1 {
			p.lines = append(p.lines, named("validation", 1, name, epochs, history.Validation))
		}
		if len(p.lines) > 0 && len(out) < maxPanels {
			out = append(out, p)
		}
	}
	for _, name := range history.ScoreNames(epochs) { // apart: other rewards have another scale
		if len(out) < maxPanels {
			l := totals("", 0, epochs, history.ScoresOf(name))
			out = append(out, panel{axis: "reward: " + excerpt.Start(name, 26), lines: []line{l}})
		}
	}
	share := line{ink: 3}
	for _, e := range epochs {
		if e.Curriculum != nil {
			share.points = append(share.points, point{x: float64(e.Epoch), y: e.Curriculum.Share})
		}
	}
	if len(share.points) > 0 {
		out = append(out, panel{axis: "curriculum share", lines: []line{share}})
	}
	return out
}

// single returns the name of the only reward, as part of a label.
func single(parts map[string]float64) (label string) {
	for name := range parts {
		label = ": " + excerpt.Start(name, 20)
	}
	if len(parts) > 1 {
		return ""
	}
	return label
}

func totals(name string, ink int, epochs []history.Epoch, of func(history.Epoch) *history.Sample) line {
	l := line{name: name, ink: ink}
	for _, e := range epochs {
		if s := of(e); s != nil && s.Mean != nil {
			l.Add(float64(e.Epoch), *s.Mean, s.StdErr)
		}
	}
	return l
}

func named(name string, ink int, reward string, epochs []history.Epoch, of func(history.Epoch) *history.Sample) line {
	return totals(name, ink, epochs, func(e history.Epoch) *history.Sample { return of(e).Only(reward) })
}

// Add adds a point, unless it cannot be drawn.
func (l *line) Add(x, v float64, err *float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	p := point{x: x, y: v}
	if err != nil {
		p.err = *err
	}
	l.points = append(l.points, p)
}

// RewardFigure draws the rewards of a run by epoch with bands of 95 % (see
// clusters.Clusters), and the curriculum's share of groups.
func RewardFigure(run history.Run) Figure {
	all := panels(run.Epochs)
	for i := range all {
		if n := len(run.Epochs); n > 0 {
			all[i].first, all[i].last = float64(run.Epochs[0].Epoch), float64(run.Epochs[n-1].Epoch)
		}
		all[i].below = "epoch"
	}
	all[0].title = run.Title()
	banded := slices.ContainsFunc(all, panel.banded)
	return Figure{width: 8 * vg.Inch, row: 2.6 * vg.Inch, banded: banded, plots: drawn(all)}
}

// banded reports whether a line has a band.
func (p panel) banded() bool {
	return slices.ContainsFunc(p.lines, func(l line) bool {
		return slices.ContainsFunc(l.points, func(q point) bool { return q.err > 0 })
	})
}

func (p panel) plot(t theme) (*plot.Plot, error) {
	out := t.plot()
	out.Title.Text, out.X.Label.Text, out.Y.Label.Text = p.title, p.below, p.axis
	margin := 0.5
	if p.last > p.first {
		margin = 0.02 * (p.last - p.first)
	}
	low, high := math.Inf(1), math.Inf(-1)
	labelled := 0
	p.lines = slices.DeleteFunc(slices.Clone(p.lines), func(l line) bool { return len(l.points) == 0 })
	for i, l := range p.lines {
		if l.name != "" {
			labelled++
		}
		if p.first == p.last { // beside each other, so that none hides another
			l = l.shifted(0.05 * (float64(i) - float64(len(p.lines)-1)/2))
		}
		if err := l.draw(out, t); err != nil {
			return nil, err
		}
		for _, q := range l.points {
			low, high = min(low, q.y-clusters.Z95*q.err), max(high, q.y+clusters.Z95*q.err)
		}
	}
	for _, l := range p.lines {
		if l.name != "" {
			out.Legend.Add(l.name, &plotter.Line{LineStyle: t.stroke(l.ink)}, &plotter.Scatter{GlyphStyle: t.mark(l.ink)})
		}
	}
	if low > high {
		low, high = 0, 1
		out.Y.Label.Text += " (none yet)"
	}
	room := max((high-low)*0.08, 1e-3*max(1, math.Abs(high)))
	if high-low < 1e-12 {
		room = max(0.1, 0.1*math.Abs(high))
	}
	above := room
	if labelled > 0 {
		above += 0.12 * (high - low) * float64(labelled) // for the legend
	}
	out.X.Min, out.X.Max, out.Y.Min, out.Y.Max = p.first-margin, p.last+margin, low-room, high+above
	if out.X.Tick.Marker = p.ticks; p.ticks == nil {
		out.X.Tick.Marker = wholeTicks(16)
	}
	return out, nil
}

// shifted returns the line with its points moved to the right.
func (l line) shifted(by float64) line {
	l.points = slices.Clone(l.points)
	for i := range l.points {
		l.points[i].x += by
	}
	return l
}

// maxMarks is up to how many epochs each value has a mark; a longer line shows
// them without.
const maxMarks = 60

func (l line) draw(p *plot.Plot, t theme) error {
	xy := make(plotter.XYs, len(l.points))
	edge := make(plotter.XYs, 0, 2*len(l.points))
	banded := false
	for i, q := range l.points {
		xy[i] = plotter.XY{X: q.x, Y: q.y}
		edge = append(edge, plotter.XY{X: q.x, Y: q.y + clusters.Z95*q.err})
		banded = banded || q.err > 0
	}
	for _, q := range slices.Backward(l.points) {
		edge = append(edge, plotter.XY{X: q.x, Y: q.y - clusters.Z95*q.err})
	}
	if banded && len(l.points) > 1 {
		band, err := plotter.NewPolygon(edge)
		if err != nil {
			return err
		}
		ink := t.inks[l.ink]
		band.Color, band.LineStyle.Width = color.NRGBA{R: ink.R, G: ink.G, B: ink.B, A: 0x38}, 0
		p.Add(band)
	} else if banded { // a band of one epoch has no width
		bar, err := plotter.NewLine(edge)
		if err != nil {
			return err
		}
		bar.Color, bar.Width = t.inks[l.ink], vg.Points(1)
		p.Add(bar)
	}
	drawn, marks, err := plotter.NewLinePoints(xy)
	if err != nil {
		return err
	}
	drawn.LineStyle, marks.GlyphStyle = t.stroke(l.ink), t.mark(l.ink)
	p.Add(drawn)
	if len(l.points) <= maxMarks {
		p.Add(marks)
	}
	return nil
}

// wholeTicks labels at most so many whole numbers, at equal distances.
type wholeTicks int

// Ticks returns the labelled numbers.
func (limit wholeTicks) Ticks(low, high float64) []plot.Tick {
	step := 1.0
	for n := 0; (high-low)/step > float64(limit); n++ {
		step *= []float64{2, 2.5, 2}[n%3]
		if n%3 == 1 { // 2.5 times 2 is 5
			step = math.Round(step)
		}
	}
	var out []plot.Tick
	for v := math.Ceil(low/step)*step + 0; v <= high; v += step {
		out = append(out, plot.Tick{Value: v, Label: fmt.Sprintf("%.0f", v+0)})
	}
	return out
}

var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.CircleGlyph{},
	draw.SquareGlyph{}, draw.TriangleGlyph{}}

// RewardView returns the figure of a run's rewards by epoch, with bands of 95 %.
func RewardView(run history.Run) (FigureView, error) {
	return RewardFigure(run).View("Rewards by epoch")
}

// MaxCurves is how many runs are told apart in a figure.
const MaxCurves = 6

// CompareView returns a figure of the rewards of runs, in validation and in training, by
// epoch and by the tokens that the epochs before took; no figure without rewards. The runs
// are named by their roots.
func CompareView(curves []history.Run) (FigureView, error) {
	var all []panel
	for name, of := range history.Sides {
		axis, n := strings.ToLower(name)+" reward", 0
		by := [2]panel{{axis: axis, below: "epoch"}, {axis: axis, below: "million tokens before", ticks: labelled}}
		for ink, c := range curves {
			epochs := line{name: excerpt.Start(c.Root, 30), ink: ink}
			tokens, before := epochs, 0.0
			for _, e := range c.Epochs {
				if s := of(e); s != nil && s.Mean != nil {
					epochs.Add(float64(e.Epoch), *s.Mean, nil)
					tokens.Add(before, *s.Mean, nil)
					by[0].last, by[1].last = max(by[0].last, float64(e.Epoch)), max(by[1].last, before)
				}
				before += float64(e.Cost.Tokens()) / 1e6
			}
			by[0].lines, by[1].lines = append(by[0].lines, epochs), append(by[1].lines, tokens)
			n += len(epochs.points)
		}
		if n > 0 {
			all = append(all, by[:]...)
		}
	}
	if len(all) == 0 {
		return FigureView{}, nil
	}
	return Figure{row: 3 * vg.Inch, plots: drawn(all)}.View("Rewards of the runs by epoch and by tokens")
}
