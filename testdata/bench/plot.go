package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"image/color"
	"maps"
	"math"
	"os"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// measured is a line of scale.jsonl: one stage over so many rows.
type measured struct {
	Shape, Stage string
	Rows         float64
	CPU, RSS     float64 // of the shards: seconds of all, megabytes of the largest
}

// draws reads what scale.py measured and draws, below each other, processor time
// and peak memory against rows. A later line replaces an earlier one of the same
// stage and size.
func draws(results, out string) error {
	lines, err := scales(results)
	if err != nil {
		return err
	}
	seconds, err := graph(lines, "processor time, s", func(m measured) float64 { return m.CPU })
	if err != nil {
		return err
	}
	seconds.Y.Scale, seconds.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	seconds.Y.Max *= 10 // for the legend
	seconds.Add(proportional(lines, seconds))
	memory, err := graph(lines, "peak memory of a shard, MB", func(m measured) float64 { return m.RSS })
	if err != nil {
		return err
	}
	memory.Y.Min, memory.X.Label.Text, memory.Legend = 0, "rows", plot.NewLegend()
	return save(out, seconds, memory)
}

// save writes plots, below each other, as an SVG.
func save(out string, plots ...*plot.Plot) error {
	canvas := vgsvg.New(7*vg.Inch, 8*vg.Inch)
	pads := draw.Tiles{Rows: len(plots), Cols: 1, PadY: vg.Points(14), PadTop: vg.Points(8), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(18)}
	column := make([][]*plot.Plot, len(plots))
	for i, p := range plots {
		column[i] = []*plot.Plot{p}
	}
	for i, c := range plot.Align(column, pads, draw.New(canvas)) {
		plots[i].Draw(c[0])
	}
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	return os.WriteFile(out, svg.Bytes(), 0o666)
}

// proportional is a dotted line through the point with the most rows, for the eye:
// what costs the same for each row is parallel to it.
func proportional(lines map[string][]measured, p *plot.Plot) *plotter.Line {
	var largest measured
	low := math.Inf(1)
	for _, points := range lines {
		if last := points[len(points)-1]; last.Rows > largest.Rows {
			largest = last
		}
		low = min(low, points[0].CPU)
	}
	each := largest.CPU / largest.Rows
	guide := &plotter.Line{XYs: plotter.XYs{{X: max(low/each, p.X.Min), Y: max(low, p.X.Min*each)}, {X: largest.Rows, Y: largest.CPU}}}
	guide.Color, guide.Width, guide.Dashes = color.Gray{Y: 0x60}, vg.Points(1), []vg.Length{vg.Points(1), vg.Points(3)}
	p.Legend.Add("proportional to rows", guide)
	return guide
}

// scales returns the points of each stage, by rows.
func scales(results string) (map[string][]measured, error) {
	all := map[string][]measured{}
	lines, err := read[measured](results)
	for _, m := range lines {
		name := m.Stage + ", " + m.Shape + " rows"
		all[name] = append(slices.DeleteFunc(all[name], func(o measured) bool { return o.Rows == m.Rows }), m)
	}
	for _, points := range all {
		slices.SortFunc(points, func(a, b measured) int { return cmp.Compare(a.Rows, b.Rows) })
	}
	return all, err
}

// read returns the lines of a file of JSON.
func read[T any](file string) (lines []T, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for in := json.NewDecoder(f); in.More(); {
		var line T
		if err := in.Decode(&line); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// The colours of Okabe and Ito, which people with colour-blindness can tell apart.
var inks = []color.RGBA{{0, 0x72, 0xb2, 255}, {0xd5, 0x5e, 0, 255}, {0, 0x9e, 0x73, 255}, {0xcc, 0x79, 0xa7, 255},
	{0x76, 0x76, 0x76, 255}, {0xe6, 0x9f, 0, 255}}

// styled returns an empty plot with a grid.
func styled() *plot.Plot {
	p := plot.New()
	for _, s := range []*draw.TextStyle{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		s.Font.Variant, s.Font.Size = "Sans", vg.Points(10)
	}
	p.Legend.Top, p.Legend.Left, p.Legend.ThumbnailWidth, p.Legend.Padding = true, true, vg.Points(28), vg.Points(2)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{Y: 0xe3}, color.Gray{Y: 0xe3}
	p.Add(grid)
	return p
}

func graph(lines map[string][]measured, axis string, value func(measured) float64) (*plot.Plot, error) {
	p := styled()
	p.Y.Label.Text, p.X.Scale, p.X.Tick.Marker = axis, plot.LogScale{}, plot.LogTicks{Prec: -1}
	for i, name := range slices.Sorted(maps.Keys(lines)) {
		points := make(plotter.XYs, 0, len(lines[name]))
		for _, m := range lines[name] {
			points = append(points, plotter.XY{X: m.Rows, Y: value(m)})
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = inks[i%len(inks)], vg.Points(1.5)
		marks.GlyphStyle = draw.GlyphStyle{Color: line.Color, Radius: vg.Points(3), Shape: plotutil.Shape(i)}
		p.Add(line, marks)
		p.Legend.Add(name, line, marks)
	}
	return p, nil
}
