package page

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/rollmill/rollmill/pipelines/look/text"
)

// inertMarkdown are texts and what the page must have of them.
var inertMarkdown = map[string]string{
	"# Title\n\ntext":                          "<h4>Title</h4>",
	"**bold** <script>alert(1)</script>":       "<strong>bold</strong> &lt;script&gt;alert(1)&lt;/script&gt;",
	"- a\n\n<div onclick=x>\n<b>\n</div>\n":    "<pre>&lt;div onclick=x&gt;\n&lt;b&gt;\n&lt;/div&gt;\n</pre>",
	"- a\n\n<!-- a\n-->\n":                     "<pre>&lt;!-- a\n--&gt;\n</pre>",
	"[go](javascript:alert(1))":                "<u>go</u> <code>javascript:alert(1)</code>",
	"[go](https://example.com/?a=1&b \"t\")":   "<u>go</u> <code>https://example.com/?a=1&amp;b</code>",
	"![p](https://example.com/track.png)":      "image: <u>p</u> <code>https://example.com/track.png</code>",
	"![p](data:text/html,<script>)":            "image: <u>p</u> <code>data:text/html,&lt;script&gt;</code>",
	"- <https://example.com>":                  "https://example.com",
	"- [a][r]\n\n[r]: javascript:alert(2)":     "<u>a</u> <code>javascript:alert(2)</code>",
	"a `x` &#x202e;&#x1b;":                     "<code>x</code> ⟨U+202E⟩⟨U+001B⟩",
	"| a | b |\n|:--|--:|\n| 1 | <b>2</b> |":   "<td>&lt;b&gt;2&lt;/b&gt;</td>",
	"```js\" onload=\"x\n</code><script>\n```": "&lt;/code&gt;&lt;script&gt;",
}

// inertElements are all that Markdown may become.
var inertElements = []string{"html", "head", "body", "h4", "h5", "h6", "p", "pre", "code", "em", "strong", "del", "u", "ul", "ol", "li", "blockquote",
	"br", "hr", "table", "thead", "tbody", "tr", "th", "td"}

func checkMarkdown(t *testing.T, source string) {
	out := string(markdownOf(text.Cut(source, math.MaxInt).Text))
	doc, err := html.Parse(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(inertElements, n.Data) {
			t.Errorf("%q has an element %s: %s", source, n.Data, out)
		}
		for _, a := range n.Attr {
			if a.Key != "start" && (a.Key != "class" || n.Data != "code") {
				t.Errorf("%q has an attribute %s: %s", source, a.Key, out)
			}
		}
	}
	if strings.ContainsAny(out, "\u202e\x1b\x00") {
		t.Errorf("%q has an invisible character: %q", source, out)
	}
}

func TestMarkdownIsInert(t *testing.T) {
	for text, want := range inertMarkdown {
		checkMarkdown(t, text)
		if got := string(markdownOf(text)); !strings.Contains(got, want) {
			t.Errorf("%q is %s", text, got)
		}
	}
	for _, text := range []string{"plain\n  X| |O\n", "a * b - c", "", strings.Repeat("**a** ", maxMarkdown)} {
		if got := markdownOf(text); got != "" {
			t.Errorf("%.20q is %s", text, got)
		}
	}
}

// TestMarkdownOfOddTexts renders texts of which a careless parser takes forever.
func TestMarkdownOfOddTexts(t *testing.T) {
	for _, piece := range []string{"> ", "[", "![", "*a **b ", "- ", "`", "<", "[a](", "|", "\\", "&", "1. ", "_a __", "~~", "<!--", "[a]: b\n", " - a\n"} {
		text := "**x** " + strings.Repeat(piece, maxMarkdown/len(piece)-8)
		start := time.Now()
		checkMarkdown(t, text)
		t.Logf("%q: %v", piece, time.Since(start))
	}
}

func FuzzMarkdown(f *testing.F) {
	for text := range inertMarkdown {
		f.Add(text)
	}
	f.Fuzz(checkMarkdown)
}
