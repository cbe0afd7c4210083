package plot

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/rollmill/rollmill/formats/excerpt"
)

// Counts is a histogram in bounded memory of values whose range is not known: bins
// are a power of two wide, and become twice as wide when there are too many. Bins of
// two histograms therefore nest.
type Counts struct {
	bins map[int64]int64 // number of values in [k·2^exp, (k+1)·2^exp)
	exp  int
	N    int64
}

const (
	maxBins = 4096
	finest  = -20 // 2^-20: a millionth
	bars    = 41  // that are drawn: odd, so that 0 is in the middle of a symmetric range
)

func (c *Counts) Add(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if c.bins == nil {
		c.bins, c.exp = map[int64]int64{}, finest
	}
	for math.Abs(math.Ldexp(v, -c.exp)) > 1<<52 {
		c.coarsen()
	}
	c.N++
	c.bins[int64(math.Floor(math.Ldexp(v, -c.exp)))]++
	for len(c.bins) > maxBins {
		c.coarsen()
	}
}

func (c *Counts) coarsen() {
	wide := make(map[int64]int64, len(c.bins)/2)
	for k, n := range c.bins {
		wide[k>>1] += n
	}
	c.bins, c.exp = wide, c.exp+1
}

// low and high return the least and the greatest value, up to the width of a bin.
func (c *Counts) low() float64  { return c.value(slices.Min(slices.Collect(maps.Keys(c.bins)))) }
func (c *Counts) high() float64 { return c.value(slices.Max(slices.Collect(maps.Keys(c.bins)))) }

func (c *Counts) value(k int64) float64 { return math.Ldexp(float64(k), c.exp) }

// bars draws the histogram from low to high.
func (c *Counts) bars(p *plot.Plot, t theme, ink int, low, high float64) error {
	if high-low < 1e-9*max(1, math.Abs(high)) {
		low, high = low-0.5, high+0.5
	}
	width := (high - low) / (bars - 1)
	low, high = low-width/2, high+width/2 // the least and the greatest value are in the middle of a bar
	list := make([]plotter.HistogramBin, bars)
	for i := range list {
		list[i].Min, list[i].Max = low+float64(i)*width, low+float64(i+1)*width
	}
	tallest := 1.0
	for k, n := range c.bins {
		at := min(bars-1, max(0, int((c.value(k)-low)/width)))
		list[at].Weight += float64(n)
		tallest = max(tallest, list[at].Weight)
	}
	p.Add(&plotter.Histogram{Bins: list, Width: width, FillColor: t.inks[ink]})
	p.Y.Tick.Marker = wholeTicks(5)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low, high, 0, tallest*1.05
	return nil
}

// maxHistograms is how many epochs are drawn.
const maxHistograms = 6

// Histograms draws the values of some epochs, the first and the last among them, on
// one scale.
func Histograms(title, axis string, ink int, of map[int]*Counts) Figure {
	epochs := slices.Sorted(maps.Keys(of))
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range of {
		low, high = min(low, c.low()), max(high, c.high())
	}
	shown := Spread(epochs, maxHistograms)
	return Figure{width: 8 * vg.Inch, row: 2.2 * vg.Inch, columns: min(3, max(1, len(shown))),
		plots: func(t theme) ([]*plot.Plot, error) {
			var out []*plot.Plot
			for i, e := range shown {
				p := t.plot()
				p.X.Label.Text, p.Y.Label.Text = fmt.Sprintf("%s, epoch %d", axis, e), "trajectories"
				if p.Title.Text = " "; i == 0 {
					p.Title.Text = excerpt.Start(title, 30)
				}
				if err := of[e].bars(p, t, ink, low, high); err != nil {
					return nil, err
				}
				out = append(out, p)
			}
			return out, nil
		}}
}

// Spread returns at most n of the epochs, the first and the last among them.
func Spread[E any](epochs []E, n int) []E {
	if len(epochs) <= n {
		return epochs
	}
	out := make([]E, n)
	for i := range out {
		out[i] = epochs[i*(len(epochs)-1)/(n-1)]
	}
	return out
}
