package view

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

	"github.com/rollmill/rollmill/pipelines/report"
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

// markdownOf returns the page's HTML of a text in Markdown, "" of any other text. What the
// text says cannot load or run anything, or lead elsewhere: HTML is shown as text, and so
// are the addresses of links and images.
func markdownOf(text string) template.HTML {
	if len(text) > maxMarkdown || !isMarkdown(text) {
		return ""
	}
	var out bytes.Buffer
	if markdown.Convert([]byte(text), &out) != nil {
		return ""
	}
	rendered := out.String()
	if strings.Contains(text, "&") { // an entity may stand for an invisible character
		rendered = report.Cut(rendered, math.MaxInt).Text
	}
	return template.HTML(rendered) //nolint:gosec // the renderer escapes all text
}

// inert renders the nodes that could do something.
type inert struct{}

func (inert) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, heading)
	r.Register(ast.KindLink, address)
	r.Register(ast.KindImage, address)
	r.Register(ast.KindAutoLink, rawText)
	r.Register(ast.KindRawHTML, rawText)
	r.Register(ast.KindHTMLBlock, rawText)
}

// heading writes a heading below those of the page.
func heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "h" + strconv.Itoa(min(6, n.(*ast.Heading).Level+3)) + ">"
	if !entering {
		tag = "/" + tag
	}
	_, err := w.WriteString("<" + tag)
	return ast.WalkContinue, err
}

// address writes a link or an image as its text and its address.
func address(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	var to []byte
	open := "<u>"
	switch n := n.(type) {
	case *ast.Link:
		to = n.Destination
	case *ast.Image:
		to, open = n.Destination, "image: <u>"
	}
	if entering {
		_, err := w.WriteString(open)
		return ast.WalkContinue, err
	}
	_, err := w.WriteString("</u> <code>" + template.HTMLEscapeString(string(to)) + "</code>")
	return ast.WalkContinue, err
}

// rawText writes HTML as text.
func rawText(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var text []byte
	switch n := n.(type) {
	case *ast.AutoLink:
		text = n.Label(source)
	case *ast.RawHTML:
		text = n.Segments.Value(source)
	case *ast.HTMLBlock:
		text = n.Lines().Value(source)
		if n.HasClosure() {
			text = append(text, n.ClosureLine.Value(source)...)
		}
		_, err := w.WriteString("<pre>" + template.HTMLEscapeString(string(text)) + "</pre>\n")
		return ast.WalkSkipChildren, err
	}
	_, err := w.WriteString(template.HTMLEscapeString(string(text)))
	return ast.WalkSkipChildren, err
}
