package page

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Message is a message as pages show it. Its texts are data: templates escape
// them.
type Message struct {
	Number, Depth int
	Role, Name    string
	Notes         []string
	Branch        string // why it does not follow the message before it
	Break         string // why its prompt does not continue the tokens before it
	Fate          model.Fate
	Parts         []Part
	Reasoning     text.Piece
	Calls         []Call
	Cut           bool   // some text of it is not whole
	URL           string // of the page with its whole text, "" for none
	Tokens        *TokenRun
	Cost          int // bytes of the page, about, without tokens and images
}

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

// Message returns the i-th message at a depth of the tree; before is the message that
// is shown before it.
func (p *Painter) Message(i, depth, before int) *Message {
	t := p.Conversation.Trajectory()
	m := &t.Messages[i]
	v := &Message{Number: i, Depth: depth, Role: text.Name(m.Role), Name: text.Name(m.Name), Branch: model.BranchOf(t, i, before),
		Fate: p.Conversation.FateOf(i), Notes: p.Conversation.Notes(i), Break: model.BreakWhy(m.PrefixBreak), Cost: messageCost}
	if p.URL != nil {
		v.URL = p.URL(i)
	}
	v.Reasoning = p.cut(v, m.Reasoning)
	list, other := chat.PartsOf(m)
	for _, part := range list {
		switch url := part.Raster(min(p.Image, p.Images)); {
		case part.URL == "" && part.Text == "":
		case part.URL == "":
			v.Parts = append(v.Parts, p.part(v, m, part.Text))
		case url != "":
			p.Images -= len(url)
			v.Parts = append(v.Parts, Part{Image: template.URL(url)}) //nolint:gosec // base64
		default:
			v.label("image, not loaded: %s (%d bytes)", text.Name(part.URL), len(part.URL))
		}
	}
	for _, kind := range other {
		v.label("part of type %s, only in the raw row", text.Name(kind))
	}
	for _, c := range m.ToolCalls {
		v.Calls = append(v.Calls, Call{text.Name(c.ID), text.Name(c.Name), Passage{Piece: p.cut(v, jsontext.Lines(c.Arguments))}})
		v.Cost += callCost
	}
	if p.Tokens > 0 && m.Sampled {
		v.Tokens = TokensOf(p.Conversation, i, 0, p.Tokens)
	}
	return v
}

// cut returns a text of a message, as much as is shown.
func (p *Painter) cut(v *Message, whole string) text.Piece {
	piece := text.Cut(whole, p.Text)
	v.Cut, v.Cost = v.Cut || piece.Left > 0, v.Cost+piece.Cost
	return piece
}

func (v *Message) label(format string, args ...any) {
	v.Parts, v.Cost = append(v.Parts, Part{Label: fmt.Sprintf(format, args...)}), v.Cost+labelCost
}

// part returns a text of a message: JSON that the model did not write is indented, what a tool
// said is folded if it is long, and what others said is rendered if it is Markdown.
func (p *Painter) part(of *Message, m *formats.Message, whole string) Part {
	shown := whole
	if !m.Sampled {
		shown = jsontext.Lines(whole)
	}
	v := Part{Text: Passage{Piece: p.cut(of, shown)}}
	if m.Role != "tool" {
		if !p.Plain && shown == whole {
			v.HTML = markdownOf(v.Text.Text)
		}
		return v
	}
	if lines := strings.Count(strings.TrimRight(shown, "\n"), "\n") + 1; lines > foldLines || len(whole) > foldBytes {
		v.Fold = plural.Of(lines, "line") + ", " + plural.Bytes(int64(len(whole)))
		v.First, _, _ = strings.Cut(strings.TrimSpace(v.Text.Text), "\n")
		v.First, v.Open = text.Name(v.First), p.Whole
	}
	return v
}
