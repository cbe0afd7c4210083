package page

import (
	"embed"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/pipelines/look/text"
)

//go:embed templates
var files embed.FS

// Style is the style of every page, and Reading that of pages with conversations, which follows it.
var (
	//go:embed page.css
	Style string
	//go:embed static/reading.css
	Reading string
)

// Templates returns the templates that pages share: what they show of a run and of a
// conversation. The functions show numbers, bands of 95 %, and short texts with their control
// characters made visible; a page may add others.
func Templates(more template.FuncMap) (*template.Template, error) {
	return template.New("layout.html").Funcs(template.FuncMap{
		"number": text.Number, "thousands": text.Thousands, "compact": text.Compact, "figure": Figure,
		"visible": func(s string) string { return text.Visible(text.Short(s, 300)) }, "band": band, "half": text.Half,
	}).Funcs(more).ParseFS(files, "templates/*.html")
}

// band returns a mean with the half of its band of 95 %.
func band(v, err *float64) string {
	return strings.TrimSuffix(text.Number(v)+" "+text.Half(err), " ")
}

// Figure returns a number, or a dash for null.
func Figure(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
