package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Scatter is a plot of two values of each row.
type Scatter struct {
	Title, X, Y string // of the plot and its axes
	Points      [][2]float64
}

// most is the number of points that are drawn; of more points, every n-th is drawn.
const most = 20000

// PNG draws the points and the diagonal of unchanged values, and below them a
// histogram of the changes.
func (s Scatter) PNG() ([]byte, error) {
	above, below := plot.New(), plot.New()
	above.Title.Text, above.X.Label.Text, above.Y.Label.Text = s.Title, s.X, s.Y
	below.X.Label.Text, below.Y.Label.Text = "movement", "rows"
	above.Add(plotter.NewGrid())
	below.Add(plotter.NewGrid())
	if len(s.Points) == 0 {
		return drawPNG(above, below)
	}
	var xy plotter.XYs
	movement := make(plotter.Values, len(s.Points))
	low, high := s.Points[0][0], s.Points[0][0]
	for i, p := range s.Points {
		movement[i] = p[1] - p[0]
		low, high = min(low, p[0], p[1]), max(high, p[0], p[1])
		if i%(len(s.Points)/most+1) == 0 {
			xy = append(xy, plotter.XY{X: p[0], Y: p[1]})
		}
	}
	points, err := plotter.NewScatter(xy)
	if err != nil {
		return nil, err
	}
	points.Color, points.Shape, points.Radius = blue, draw.CircleGlyph{}, vg.Points(1.5)
	diagonal, err := plotter.NewLine(plotter.XYs{{X: low, Y: low}, {X: high, Y: high}})
	if err != nil {
		return nil, err
	}
	diagonal.Color = grey
	above.Add(diagonal, points)
	bars, err := plotter.NewHist(movement, 40)
	if err != nil {
		return nil, err
	}
	bars.FillColor = orange
	below.Add(bars)
	return drawPNG(above, below)
}
