package plot

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// theme is the colours of a figure. The inks are of Okabe and Ito's palette, which
// people with colour-blindness can tell apart; the lines also differ in the shapes of
// their points.
type theme struct {
	paper, text, grid color.RGBA
	inks              []color.RGBA // training, validation, kept, curriculum, two more runs
}

var (
	light = theme{rgb(0xffffff), rgb(0x1a1a1a), rgb(0xe3e3e3),
		[]color.RGBA{rgb(0x0072b2), rgb(0xd55e00), rgb(0x767676), rgb(0x00835e), rgb(0x9a3d7c), rgb(0x7a6200)}}
	dark = theme{rgb(0x181a1f), rgb(0xe6e6e6), rgb(0x363a43),
		[]color.RGBA{rgb(0x56b4e9), rgb(0xf09a4a), rgb(0xa0a0a0), rgb(0x35c79c), rgb(0xe08fc3), rgb(0xe0c341)}}
)

func rgb(v uint32) color.RGBA {
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

func (t theme) stroke(ink int) draw.LineStyle {
	s := draw.LineStyle{Color: t.inks[ink], Width: vg.Points(1.5)}
	if ink == 2 {
		s.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	}
	return s
}

func (t theme) mark(ink int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: t.inks[ink], Radius: vg.Points(2.8), Shape: shapes[ink]}
}

// plot returns an empty plot in these colours, with a grid and a sans-serif face.
func (t theme) plot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = t.paper
	for _, s := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label,
		&p.Y.Tick.Label, &p.Legend.TextStyle} {
		s.Font.Variant, s.Color = "Sans", t.text
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle.Color, a.Tick.LineStyle.Color = t.text, t.text
	}
	p.Title.TextStyle.Font.Size, p.Title.Padding = vg.Points(13), vg.Points(6)
	for _, s := range []*draw.TextStyle{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
		&p.Legend.TextStyle} {
		s.Font.Size = vg.Points(10)
	}
	p.Legend.Top, p.Legend.Padding = true, vg.Points(2)
	p.Legend.Left, p.Legend.XOffs = true, vg.Points(6) // a wider face than was measured grows away from the mark
	p.Y.Tick.Marker = labelled
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = t.grid, t.grid
	p.Add(grid)
	return p
}

// labelled gives the default ticks that have a label.
var labelled = plot.TickerFunc(func(low, high float64) []plot.Tick {
	return slices.DeleteFunc(plot.DefaultTicks{}.Ticks(low, high), plot.Tick.IsMinor)
})

// Figure is one or more plots below each other, or in columns.
type Figure struct {
	width, row vg.Length // of the figure, and the height of a row
	columns    int       // 0 for 1
	banded     bool      // has bands of 95 %
	plots      func(theme) ([]*plot.Plot, error)
}

// canvas is what a figure is drawn on, and then written.
type canvas interface {
	vg.CanvasSizer
	io.WriterTo
}

// image draws the figure on a canvas of its size.
func (f Figure) image(t theme, on func(width, height vg.Length) canvas) ([]byte, error) {
	plots, err := f.plots(t)
	if err != nil {
		return nil, err
	}
	columns := max(1, f.columns)
	rows := (len(plots) + columns - 1) / columns
	image := on(f.width, f.row*vg.Length(rows))
	area := draw.New(image)
	area.FillPolygon(t.paper,
		[]vg.Point{area.Min, {X: area.Max.X, Y: area.Min.Y}, area.Max, {X: area.Min.X, Y: area.Max.Y}})
	tiles := draw.Tiles{Cols: columns, Rows: rows, PadTop: vg.Points(6), PadBottom: vg.Points(4),
		PadLeft: vg.Points(6), PadRight: vg.Points(12), PadX: vg.Points(14), PadY: vg.Points(8)}
	grid := make([][]*plot.Plot, rows)
	for i := range grid {
		grid[i] = make([]*plot.Plot, columns)
		copy(grid[i], plots[i*columns:])
	}
	for j, row := range plot.Align(grid, tiles, area) {
		for i, c := range row {
			if p := grid[j][i]; p != nil {
				p.Draw(c)
			}
		}
	}
	var out bytes.Buffer
	_, err = image.WriteTo(&out)
	return out.Bytes(), err
}

func (f Figure) png(t theme) ([]byte, error) {
	return f.image(t, func(width, height vg.Length) canvas {
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(150))}
	})
}

// face is what the SVG names besides Liberation Sans, which has the widths of Arial.
var face = strings.NewReplacer("font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")

func (f Figure) svg(t theme) ([]byte, error) {
	data, err := f.image(t, func(width, height vg.Length) canvas { return vgsvg.New(width, height) })
	return []byte(face.Replace(string(data))), err
}

// Files returns the figure as PNG and as SVG.
func (f Figure) Files(name string) ([]File, error) {
	image, err := f.png(light)
	if err != nil {
		return nil, err
	}
	vector, err := f.svg(light)
	return []File{{name + ".png", image}, {name + ".svg", vector}}, err
}

// FigureView is a plot in colours for light and for dark pages, and as wide as a page and
// as the screen of a phone.
type FigureView struct {
	Alt                      string
	Banded                   bool // has bands of 95 %
	Light                    template.URL
	Dark, Narrow, NarrowDark template.Srcset
}

// View returns the figure as SVG, or as PNG where that is smaller. The page has its title. The
// templates choose the narrow figure for up to 640 pixels.
func (f Figure) View(alt string) (FigureView, error) {
	v := FigureView{Alt: alt, Banded: f.banded}
	for i, to := range []*template.Srcset{nil, &v.Dark, &v.Narrow, &v.NarrowDark} {
		t := []theme{light, dark}[i%2]
		plots, err := f.plots(t)
		if err != nil {
			return v, err
		}
		for _, p := range plots {
			p.Title.Text = ""
			if _, whole := p.X.Tick.Marker.(wholeTicks); whole {
				p.X.Tick.Marker = wholeTicks(8)
			}
		}
		x := Figure{row: f.row, width: 3.85 * vg.Inch, plots: func(theme) ([]*plot.Plot, error) { return plots, nil }}
		if i < 2 { // of four, two beside each other
			x.width, x.columns = 10.8*vg.Inch, min(3, max(1, len(plots)), max(2, len(plots)%4))
		}
		media := "image/svg+xml"
		data, err := x.svg(t)
		if err == nil && len(data) > 200_000 {
			media = "image/png"
			data, err = x.png(t)
		}
		if err != nil {
			return v, err
		}
		if url := "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(data); to == nil {
			v.Light = template.URL(url) //nolint:gosec // base64
		} else {
			*to = template.Srcset(url) //nolint:gosec // base64
		}
	}
	return v, nil
}

// File is a figure, or another file of the report.
type File struct {
	Name string
	Data []byte
}
