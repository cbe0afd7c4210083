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

	"github.com/rollmill/rollmill/formats/plural"
)

// Scatter is a plot of two values of each row. It shows how many rows are at a
// place: with few different pairs, as circles whose areas are the numbers of rows;
// otherwise as the colours of a grid's gridSide, on a logarithmic scale.
type Scatter struct {
	Title, X, Y string // of the plot and its axes
	Points      [][2]float64
}

const (
	maxCircles = 60 // different pairs
	gridSide   = 50 // of the grid, on each side
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
	var err error
	if len(pairs) <= maxCircles {
		err = circles(above, t, pairs, len(s.Points))
	} else {
		err = s.grid(above, t, low, high)
	}
	if err != nil {
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

// circles draws each pair as a circle whose area is its number of rows.
func circles(p *plot.Plot, t theme, pairs map[[2]float64]int, rows int) error {
	xy, labels, sizes := plotter.XYs{}, []string{}, []vg.Length{}
	order := slices.SortedFunc(maps.Keys(pairs), func(a, b [2]float64) int { // a small circle is drawn upon a large one
		return cmp.Or(cmp.Compare(pairs[b], pairs[a]), slices.Compare(a[:], b[:]))
	})
	for _, pair := range order {
		xy = append(xy, plotter.XY{X: pair[0], Y: pair[1]})
		labels = append(labels, fmt.Sprint(pairs[pair]))
		sizes = append(sizes, vg.Points(3)+vg.Points(22)*vg.Length(math.Sqrt(float64(pairs[pair])/float64(rows))))
	}
	marks, err := plotter.NewScatter(xy)
	if err != nil {
		return err
	}
	marks.GlyphStyleFunc = func(i int) draw.GlyphStyle {
		return draw.GlyphStyle{Color: color.NRGBA{R: t.inks[0].R, G: t.inks[0].G, B: t.inks[0].B, A: 0x90}, Radius: sizes[i],
			Shape: draw.CircleGlyph{}}
	}
	p.Add(marks)
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

// grid draws the number of rows of each cell, a legend says what the colours are.
func (s Scatter) grid(p *plot.Plot, t theme, low, high float64) error {
	g := &density{low: low, width: (high - low) / gridSide}
	for _, q := range s.Points {
		g.rows[g.cell(q[1])][g.cell(q[0])]++
	}
	maxRows := 1.0
	for _, row := range g.rows {
		for _, n := range row {
			maxRows = max(maxRows, n)
		}
	}
	ramp := ramp(t)
	heat := plotter.NewHeatMap(g, ramp)
	heat.Min, heat.Max, heat.NaN = 0, max(math.Log10(maxRows), 1e-9), color.Transparent
	p.Add(heat)
	for n := 1.0; n <= maxRows; n *= 10 {
		at := int(math.Round(math.Log10(n) / heat.Max * float64(len(ramp)-1)))
		p.Legend.Add(plural.Of(int64(n), "row"), swatch{ramp[at]})
	}
	p.Legend.Left = true
	return nil
}

// density is the grid of a heat map; empty gridSide are not drawn.
type density struct {
	low, width float64
	rows       [gridSide][gridSide]float64
}

func (d *density) cell(v float64) int { return min(gridSide-1, max(0, int((v-d.low)/d.width))) }

func (d *density) Dims() (c, r int) { return gridSide, gridSide }
func (d *density) X(c int) float64  { return d.low + (float64(c)+0.5)*d.width }
func (d *density) Y(r int) float64  { return d.X(r) }
func (d *density) Z(c, r int) float64 {
	if d.rows[r][c] == 0 {
		return math.NaN()
	}
	return math.Log10(d.rows[r][c])
}

// colours is a palette from few rows to many.
type colours []color.Color

func (c colours) Colors() []color.Color { return c }

// ramp returns the colours from few rows to many.
func ramp(t theme) colours {
	out := make(colours, 32)
	for i := range out {
		f := 0.18 + 0.82*float64(i)/float64(len(out)-1)
		mix := func(a, b uint8) uint8 { return uint8(float64(a) + f*(float64(b)-float64(a))) }
		to := rgb(0x08306b)
		if t.paper == dark.paper {
			to = rgb(0xc6e4ff)
		}
		out[i] = color.RGBA{R: mix(t.paper.R, to.R), G: mix(t.paper.G, to.G), B: mix(t.paper.B, to.B), A: 0xff}
	}
	return out
}

// swatch is a filled rectangle of a legend.
type swatch struct{ of color.Color }

// Thumbnail fills the place of the legend.
func (s swatch) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(s.of, []vg.Point{{X: c.Min.X, Y: c.Min.Y}, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
}
