// Package page is what pages for a browser have in common, those that package serve serves and
// the one that package report writes to a file: the templates and the style, and a message as
// pages show it, with its parts, tokens and place in the tree. Texts of models and programs are
// data: templates escape them, and Markdown becomes elements that can neither load nor run
// anything.
package page

import (
	"embed"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

//go:embed templates
var files embed.FS

// Templates returns the templates that pages share: what they show of a run and of a
// conversation. The functions show numbers, halves of bands, and short texts with their control
// characters made visible; a page may add others.
func Templates(more template.FuncMap) (*template.Template, error) {
	return template.New("layout.html").Funcs(template.FuncMap{
		"number": text.Number, "thousands": text.Thousands, "compact": text.Compact, "figure": Figure,
		"visible": func(s string) string { return text.Visible(excerpt.Start(s, 300)) }, "half": text.Half,
	}).Funcs(more).ParseFS(files, "templates/*.html")
}

// Figure returns a number, or a dash for null.
func Figure(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Link returns the path of a page from its elements, such as "d", KEY, "g", GROUP.
// Elements from data may hold anything: see segment.
func Link(elements ...any) string {
	var b strings.Builder
	for _, e := range elements {
		text := fmt.Sprint(e)
		if strings.Trim(text, ".") == "" || text[0] == '~' { // a browser resolves . and .. even if they are escaped
			text = "~" + text
		}
		b.WriteString("/" + url.PathEscape(text))
	}
	return b.String()
}

// WithQuery returns a path with a query of names and values; values that are "" or the number 0 are left out.
func WithQuery(path string, pairs ...any) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := fmt.Sprint(pairs[i+1]); v != "" && pairs[i+1] != 0 {
			values.Set(fmt.Sprint(pairs[i]), v)
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}
