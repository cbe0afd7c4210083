package report

import (
	"bytes"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

var (
	blue   = color.RGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff}
	orange = color.RGBA{R: 0xff, G: 0x7f, B: 0x0e, A: 0xff}
	green  = color.RGBA{R: 0x2c, G: 0xa0, B: 0x2c, A: 0xff}
	grey   = color.RGBA{R: 0x7f, G: 0x7f, B: 0x7f, A: 0xff}
)

// plotPNG draws rewards, and below them the curriculum's share of groups, over the
// same epochs. A line without points is omitted.
func plotPNG(epochs []Epoch) ([]byte, error) {
	rewards, share := plot.New(), plot.New()
	rewards.Title.Text, rewards.Y.Label.Text, rewards.Legend.Top, rewards.Legend.Left = "reward", "mean reward", true, true
	share.Y.Label.Text, share.X.Label.Text, share.Y.Min, share.Y.Max = "curriculum share", "epoch", 0, 1.05
	for _, p := range []*plot.Plot{rewards, share} {
		p.X.Min, p.X.Max = 0, float64(max(1, len(epochs)-1))
		p.Add(plotter.NewGrid())
	}
	for _, l := range []struct {
		on    *plot.Plot
		name  string
		color color.Color
		value func(Epoch) *float64
	}{
		{rewards, "training", blue, func(e Epoch) *float64 { return meanOf(e.Train) }},
		{rewards, "kept by curate", grey, func(e Epoch) *float64 { return meanOf(e.Kept) }},
		{rewards, "validation", orange, func(e Epoch) *float64 { return meanOf(e.Validation) }},
		{share, "", green, func(e Epoch) *float64 {
			if e.Curriculum == nil {
				return nil
			}
			return &e.Curriculum.Share
		}},
	} {
		if err := addLine(l.on, l.name, l.color, epochs, l.value); err != nil {
			return nil, err
		}
	}
	return drawPNG(rewards, share)
}

func meanOf(s *Sample) *float64 {
	if s == nil {
		return nil
	}
	return s.Mean
}

func addLine(p *plot.Plot, name string, c color.Color, epochs []Epoch, value func(Epoch) *float64) error {
	var xy plotter.XYs
	for _, e := range epochs {
		if v := value(e); v != nil {
			xy = append(xy, plotter.XY{X: float64(e.Epoch), Y: *v})
		}
	}
	if len(xy) == 0 {
		return nil
	}
	line, points, err := plotter.NewLinePoints(xy)
	if err != nil {
		return err
	}
	line.Color, points.Color, points.Shape = c, c, draw.CircleGlyph{}
	line.Width, points.Radius = vg.Points(1.5), vg.Points(2.5)
	p.Add(line, points)
	if name != "" {
		p.Legend.Add(name, line, points)
	}
	return nil
}

func drawPNG(upper, lower *plot.Plot) ([]byte, error) {
	img := vgimg.NewWith(vgimg.UseWH(9*vg.Inch, 6*vg.Inch), vgimg.UseDPI(110))
	canvas := draw.New(img)
	top := draw.Crop(canvas, 0, 0, 2*vg.Inch, 0)
	bottom := draw.Crop(canvas, 0, 0, 0, -4*vg.Inch)
	upper.Draw(top)
	lower.Draw(bottom)
	var out bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(&out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
