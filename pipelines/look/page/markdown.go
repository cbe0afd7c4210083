package page

import (
	"bytes"
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	extensions "github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/rollmill/rollmill/pipelines/look/text"
)

// maxMarkdown is the longest text that is rendered; a longer one is shown as it is.
const maxMarkdown = 16 << 10

// blockStart finds lines that only Markdown has.
var blockStart = regexp.MustCompile("^ {0,3}(#{1,6} |[-*+] |[0-9]{1,3}[.)] |> |```|~~~|\\|.*\\|[ \t]*$)")

// isMarkdown reports whether a text is written in Markdown. Others are shown as they are,
// with their spaces.
func isMarkdown(text string) bool {
	if strings.Contains(text, "**") || strings.Contains(text, "](") || strings.Count(text, "`") > 1 {
		return true
	}
	for line := range strings.Lines(text) {
		if strings.ContainsAny(line[:1], " #-*+>~|0123456789") && blockStart.MatchString(strings.TrimRight(line, "\n")) {
			return true
		}
	}
	return false
}

var markdown = goldmark.New(
	goldmark.WithExtensions(extensions.Strikethrough,
		extensions.NewTable(extensions.WithTableCellAlignMethod(extensions.TableCellAlignNone))), // no inline style
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(inert{}, 0))))

// markdownOf returns the page's HTML of a text in Markdown, "" of any other text. The text
// comes from text.Cut, without invisible characters. What it
// says cannot load or run anything, or lead elsewhere: HTML is shown as text, and so
// are the addresses of links and images.
func markdownOf(source string) template.HTML {
	if len(source) > maxMarkdown || !isMarkdown(source) {
		return ""
	}
	var out bytes.Buffer
	if markdown.Convert([]byte(source), &out) != nil {
		return ""
	}
	rendered := out.String()
	if strings.Contains(source, "&") { // an entity may stand for an invisible character
		rendered = text.Cut(rendered, math.MaxInt).Text
	}
	return template.HTML(rendered) //nolint:gosec // the renderer escapes all text
}

// inert renders the nodes that could do something.
type inert struct{}

func (inert) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	for _, kind := range []ast.NodeKind{ast.KindHeading, ast.KindLink, ast.KindImage, ast.KindAutoLink, ast.KindRawHTML,
		ast.KindHTMLBlock} {
		r.Register(kind, writeInert)
	}
}

// writeInert writes headings below those of the page, links and images as their text and
// their address, and HTML as text.
func writeInert(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	before, after, status := "", "", ast.WalkContinue
	text := func(b []byte) string { return template.HTMLEscapeString(string(b)) }
	switch n := n.(type) {
	case *ast.Heading:
		tag := "h" + strconv.Itoa(min(6, n.Level+3)) + ">"
		before, after = "<"+tag, "</"+tag
	case *ast.Link:
		before, after = "<u>", "</u> <code>"+text(n.Destination)+"</code>"
	case *ast.Image:
		before, after = "image: <u>", "</u> <code>"+text(n.Destination)+"</code>"
	case *ast.AutoLink:
		before, status = text(n.Label(source)), ast.WalkSkipChildren
	case *ast.RawHTML:
		before, status = text(n.Segments.Value(source)), ast.WalkSkipChildren
	case *ast.HTMLBlock:
		before, after, status = "<pre>"+text(n.Lines().Value(source)), "</pre>\n", ast.WalkSkipChildren
		if n.HasClosure() {
			after = text(n.ClosureLine.Value(source)) + after
		}
	}
	if !entering {
		before = after
	}
	_, err := w.WriteString(before)
	return status, err
}
