package page

import (
	"html/template"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Message is a message as pages show it. Its texts are data: templates escape
// them.
type Message struct {
	model.Message
	Parts     []Part
	Reasoning text.Piece
	Calls     []Call
	Cut       bool   // some text of it is not whole
	URL       string // of the page with its whole text, "" for none
	Tokens    *TokenRun
	Cost      int // bytes of the page, about, without tokens and images
}

// Cause returns the cause of a prefix break, without what it means.
func (m *Message) Cause() string { cause, _, _ := strings.Cut(m.Break, ": "); return cause }

// Part is a part of a message: a text, an image, or the label of what is not
// shown.
type Part struct {
	Text  Passage
	HTML  template.HTML // of a text in Markdown, unless it is to be shown as it is
	Fold  string        // the size of a text that is folded
	First string        // line of it
	Open  bool
	Image template.URL
	Label string
}

// Call is a call of a tool.
type Call struct {
	ID, Name  string
	Arguments Passage
}

// The sizes of what a page shows.
const (
	foldLines = 10 // of a tool's result; a longer one is folded
	foldBytes = 2000

	messageCost = 700 // bytes of a message beside its texts
	callCost    = 500 // of a call
	labelCost   = 300 // of a label
)

// Painter makes the messages of one page.
type Painter struct {
	Conversation *model.Conversation
	Text         int                      // bytes of a text
	Image        int                      // bytes of an image's URL
	Images       int                      // bytes left for images
	Tokens       int                      // tokens of a message; 0 for none
	Plain        bool                     // show Markdown as it is
	Whole        bool                     // fold nothing
	URL          func(message int) string // nil for none
}

// Message returns the message at a place.
func (p *Painter) Message(at model.Place) *Message {
	m := p.Conversation.Message(at)
	v := &Message{Message: m, Cost: messageCost}
	if p.URL != nil {
		v.URL = p.URL(at.Number)
	}
	v.Reasoning = p.cut(v, m.Reasoning)
	for _, part := range m.Parts {
		url := part.Raster(min(p.Image, p.Images))
		switch p.Images -= len(url); {
		case url != "":
			v.Parts = append(v.Parts, Part{Image: template.URL(url)}) //nolint:gosec // base64
		case part.Label != "":
			v.Parts, v.Cost = append(v.Parts, Part{Label: part.Label}), v.Cost+labelCost
		default:
			v.Parts = append(v.Parts, p.part(v, part))
		}
	}
	for _, c := range m.Calls {
		v.Calls = append(v.Calls, Call{c.ID, c.Name, Passage{Piece: p.cut(v, c.Arguments)}})
		v.Cost += callCost
	}
	if p.Tokens > 0 && m.Fate.State != model.Input {
		v.Tokens = TokensOf(p.Conversation, at.Number, 0, p.Tokens)
	}
	return v
}

// cut returns a text of a message, as much as is shown.
func (p *Painter) cut(v *Message, whole string) text.Piece {
	piece := text.Cut(whole, p.Text)
	v.Cut, v.Cost = v.Cut || piece.Left > 0, v.Cost+piece.Cost
	return piece
}

// part returns a text of a message: what a tool said is folded if it is long, and what others
// said is rendered if it is Markdown.
func (p *Painter) part(v *Message, part model.Part) Part {
	out := Part{Text: Passage{Piece: p.cut(v, part.Text)}}
	if v.Role != "tool" {
		if !p.Plain && part.Text == part.Raw {
			out.HTML = markdownOf(out.Text.Text)
		}
		return out
	}
	if lines := strings.Count(strings.TrimRight(part.Text, "\n"), "\n") + 1; lines > foldLines || len(part.Raw) > foldBytes {
		out.Fold = plural.Of(lines, "line") + ", " + plural.Bytes(int64(len(part.Raw)))
		out.First, _, _ = strings.Cut(strings.TrimSpace(out.Text.Text), "\n")
		out.First, out.Open = text.Name(out.First), p.Whole
	}
	return out
}
