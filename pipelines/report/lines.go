package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// Lines is a plot of lines over the same places, such as classes of groups. After
// MaxCurves lines, colours and marks begin again.
type Lines struct {
	Title, X, Y string      // of the plot and its axes
	Places      []string    // from left to right
	Names       []string    // of the lines
	Values      [][]float64 // of each line, at each place; NaN has no point
}

// PNG draws the lines.
func (l Lines) PNG() ([]byte, error) { return l.figure().png(light) }

// SVG draws the same as PNG.
func (l Lines) SVG() ([]byte, error) { return l.figure().svg(light) }

func (l Lines) figure() figure {
	return figure{width: 6.5 * vg.Inch, row: 4.2 * vg.Inch, plots: func(t theme) ([]*plot.Plot, error) {
		all, ticks := panel{axis: l.Y}, plot.ConstantTicks{}
		for i, name := range l.Names {
			drawn := line{name: name, ink: i % MaxCurves}
			for at, v := range l.Values[i] {
				drawn.add(float64(at), v, nil)
			}
			all.lines = append(all.lines, drawn)
		}
		for at, name := range l.Places {
			ticks = append(ticks, plot.Tick{Value: float64(at), Label: name})
		}
		out, err := all.plot(t, 0, float64(len(l.Places)-1))
		if err != nil {
			return nil, err
		}
		out.Title.Text, out.X.Label.Text, out.X.Tick.Marker = l.Title, l.X, ticks
		return []*plot.Plot{out}, nil
	}}
}
