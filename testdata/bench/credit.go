package main

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// learnt is a line of credit.jsonl: a run of an arm on a task, and the mean reward of
// each validation, before the first epoch and after each.
type learnt struct {
	Task, Arm string
	Values    []float64
}

var axes = map[string]string{"game": "held-out games won, share", "columns": "held-out columns right, of 5"}

// credits reads what testdata/credit/run.py measured and draws, for each task, the mean
// over the seeds of each arm, in a band of one standard deviation.
func credits(results, out string) error {
	runs, err := read[learnt](results)
	if err != nil {
		return err
	}
	var plots []*plot.Plot
	for _, task := range []string{"game", "columns"} {
		p := styled()
		p.Y.Label.Text = axes[task]
		var arms []string
		curves := map[string][][]float64{}
		for _, r := range runs {
			if r.Task != task {
				continue
			}
			if curves[r.Arm] == nil {
				arms = append(arms, r.Arm)
			}
			curves[r.Arm] = append(curves[r.Arm], r.Values)
		}
		for i, arm := range arms {
			if err := band(p, arm, inks[i%len(inks)], curves[arm]); err != nil {
				return err
			}
		}
		plots = append(plots, p)
	}
	plots[0].Y.Max += 0.1 // for the legend
	plots[1].X.Label.Text, plots[1].Legend = "epochs", plot.NewLegend()
	return save(out, plots...)
}

// band adds the mean of curves, and a band of one standard deviation of the sample around it.
func band(p *plot.Plot, name string, ink color.RGBA, curves [][]float64) error {
	var mean, high, low plotter.XYs
	for x := range curves[0] {
		sum, square := 0.0, 0.0
		for _, c := range curves {
			sum += c[x]
		}
		m := sum / float64(len(curves))
		for _, c := range curves {
			square += (c[x] - m) * (c[x] - m)
		}
		std := math.Sqrt(square / float64(max(1, len(curves)-1)))
		mean = append(mean, plotter.XY{X: float64(x), Y: m})
		high, low = append(high, plotter.XY{X: float64(x), Y: m + std}), append(low, plotter.XY{X: float64(x), Y: m - std})
	}
	slices.Reverse(low)
	around, err := plotter.NewPolygon(append(high, low...))
	if err != nil {
		return err
	}
	around.Color, around.LineStyle = color.NRGBA{R: ink.R, G: ink.G, B: ink.B, A: 0x28}, draw.LineStyle{}
	line, err := plotter.NewLine(mean)
	if err != nil {
		return err
	}
	line.Color, line.Width = ink, vg.Points(1.8)
	p.Add(around, line)
	p.Legend.Add(name, line)
	return nil
}
