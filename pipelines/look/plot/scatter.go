package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Scatter is a plot of two values of each row, with circles whose areas are the numbers of
// rows at a place: at each pair with the number, or, of many pairs, in the cells of a grid.
type Scatter struct {
	Title, X, Y string // of the plot and its axes
	Points      [][2]float64
}

const (
	maxCircles = 60 // different pairs
	gridSide   = 50 // cells of the grid, on each side
)

// PNG draws the density of the rows with the diagonal of unchanged values, and
// below it a histogram of the changes.
func (s Scatter) PNG() ([]byte, error) { return s.figure().png(light) }

// SVG draws the same as PNG.
func (s Scatter) SVG() ([]byte, error) { return s.figure().svg(light) }

func (s Scatter) figure() Figure {
	return Figure{width: 6.5 * vg.Inch, row: 4.2 * vg.Inch, plots: s.plots}
}

func (s Scatter) plots(t theme) ([]*plot.Plot, error) {
	above, below := t.plot(), t.plot()
	above.Title.Text, above.X.Label.Text, above.Y.Label.Text = s.Title, s.X, s.Y
	below.X.Label.Text, below.Y.Label.Text = "change (b - a)", "rows"
	moves := &Counts{}
	pairs := map[[2]float64]int{}
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range s.Points {
		moves.Add(p[1] - p[0])
		low, high = min(low, p[0], p[1]), max(high, p[0], p[1])
		if len(pairs) <= maxCircles {
			pairs[p]++
		}
	}
	if len(s.Points) == 0 {
		above.Title.Text += " (no rows with both rewards)"
		return []*plot.Plot{above, below}, nil
	}
	room := max((high-low)*0.1, 1e-3*max(1, math.Abs(high)))
	low, high = low-room, high+room
	width, most, numbered := vg.Points(22), len(s.Points), true
	if len(pairs) > maxCircles {
		width, most, numbered, pairs = vg.Points(4), 1, false, map[[2]float64]int{}
		middle := func(v float64) float64 {
			return low + (high-low)*(math.Floor((v-low)/(high-low)*gridSide)+0.5)/gridSide
		}
		for _, p := range s.Points {
			at := [2]float64{middle(p[0]), middle(p[1])}
			pairs[at]++
			most = max(most, pairs[at])
		}
	}
	if err := circles(above, t, pairs, most, width, numbered); err != nil {
		return nil, err
	}
	diagonal, err := plotter.NewLine(plotter.XYs{{X: low, Y: low}, {X: high, Y: high}})
	if err != nil {
		return nil, err
	}
	diagonal.Color, diagonal.Dashes = t.inks[2], []vg.Length{vg.Points(4), vg.Points(3)}
	above.Add(diagonal)
	above.X.Min, above.X.Max, above.Y.Min, above.Y.Max = low, high, low, high
	return []*plot.Plot{above, below}, moves.bars(below, t, 0, moves.low(), moves.high())
}

// circles draws each pair as a circle whose area is its number of rows; with most rows it has the width.
func circles(p *plot.Plot, t theme, pairs map[[2]float64]int, most int, width vg.Length, numbered bool) error {
	xy, labels, sizes := plotter.XYs{}, []string{}, []vg.Length{}
	order := slices.SortedFunc(maps.Keys(pairs), func(a, b [2]float64) int { // a small circle is drawn upon a large one
		return cmp.Or(cmp.Compare(pairs[b], pairs[a]), slices.Compare(a[:], b[:]))
	})
	for _, pair := range order {
		xy = append(xy, plotter.XY{X: pair[0], Y: pair[1]})
		labels = append(labels, fmt.Sprint(pairs[pair]))
		sizes = append(sizes, width/8+width*vg.Length(math.Sqrt(float64(pairs[pair])/float64(most))))
	}
	marks, err := plotter.NewScatter(xy)
	if err != nil {
		return err
	}
	marks.GlyphStyleFunc = func(i int) draw.GlyphStyle {
		return draw.GlyphStyle{Color: color.NRGBA{R: t.inks[0].R, G: t.inks[0].G, B: t.inks[0].B, A: 0x90}, Radius: sizes[i],
			Shape: draw.CircleGlyph{}}
	}
	if p.Add(marks); !numbered {
		return nil
	}
	numbers, err := plotter.NewLabels(plotter.XYLabels{XYs: xy, Labels: labels})
	if err != nil {
		return err
	}
	for i := range numbers.TextStyle {
		numbers.TextStyle[i] = p.X.Tick.Label
		numbers.TextStyle[i].XAlign, numbers.TextStyle[i].YAlign = draw.XCenter, draw.YCenter
	}
	p.Add(numbers)
	return nil
}
