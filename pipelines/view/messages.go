package view

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/inspect"
	"github.com/rollmill/rollmill/pipelines/report"
)

// messageView is a message as pages show it. Its texts are data: templates escape
// them.
type messageView struct {
	Number, Depth int
	Role, Name    string
	Notes         []string
	Branch        string // why it does not follow the message before it
	Break         string // why its prompt does not continue the tokens before it
	Fate          fate
	Parts         []partView
	Reasoning     report.Piece
	Calls         []callView
	Cut           bool   // some text of it is not whole
	URL           string // of the page with its whole text
	Tokens        *tokenRun
}

// partView is a part of a message: a text, an image, or the label of what is not
// shown.
type partView struct {
	Text  passage
	HTML  template.HTML // of a text in Markdown, unless it is to be shown as it is
	Fold  string        // the size of a text that is folded
	First string        // line of it
	Open  bool
	Image template.URL
	Label string
}

type callView struct {
	ID, Name  string
	Arguments passage
}

// fate says whether something trains, and why.
type fate struct {
	State   string // inspect.TrainsYes, TrainsNo, TrainsUndecided; "input" for what was not sampled
	Why     string // "" of an input that goes without saying
	Against bool   // it trains with a negative advantage
}

// fateOfAll returns whether a trajectory trains, and why.
func fateOfAll(c *inspect.Conversation) fate {
	a := c.Trajectory().Advantage
	return fate{c.Trains, c.Why, c.Trains != inspect.TrainsNo && a != nil && *a < 0}
}

const notSampled = "input"

// The sizes of what a page shows.
const (
	nameBytes  = 200
	imageBytes = 2 << 20 // of one image's URL
	pageImages = 6 << 20 // of all on a page
	foldLines  = 10      // of a tool's result; a longer one is folded
	foldBytes  = 2000
)

// painter makes the messages of one page.
type painter struct {
	c      *inspect.Conversation
	text   int  // bytes of a text
	images int  // bytes left for images
	tokens int  // tokens of a message; 0 for none
	plain  bool // show Markdown as it is
	whole  bool // fold nothing
	url    func(message int) string
}

// message returns the i-th message at a depth of the tree; before is the message that
// is shown before it.
func (p *painter) message(i, depth, before int) *messageView {
	t := p.c.Trajectory()
	m := &t.Messages[i]
	v := &messageView{Number: i, Depth: depth, Role: name(m.Role), Name: name(m.Name), Branch: branchOf(t, i, before),
		Fate: fateOf(p.c, i), Notes: notesOf(t, i), Break: breakWhy(m.PrefixBreak),
		Reasoning: report.Cut(m.Reasoning, p.text), URL: p.url(i)}
	v.Parts = p.parts(m)
	for _, c := range m.ToolCalls {
		arguments := report.Cut(jsontext.Lines(c.Arguments), p.text)
		v.Calls = append(v.Calls, callView{name(c.ID), name(c.Name), passage{Piece: arguments}})
	}
	v.Cut = v.Reasoning.Left > 0
	for _, part := range v.Parts {
		v.Cut = v.Cut || part.Text.Left > 0
	}
	for _, c := range v.Calls {
		v.Cut = v.Cut || c.Arguments.Left > 0
	}
	if p.tokens > 0 && m.Sampled {
		v.Tokens = tokensOf(p.c, i, 0, p.tokens)
	}
	return v
}

// parts returns the content of a message. JSON that the model did not write is
// indented.
func (p *painter) parts(m *formats.Message) (out []partView) {
	list, other := chat.PartsOf(m)
	for _, part := range list {
		if part.URL == "" {
			if part.Text != "" {
				out = append(out, p.part(m, part.Text))
			}
			continue
		}
		if url := part.Raster(min(imageBytes, p.images)); url != "" {
			p.images -= len(url)
			out = append(out, partView{Image: template.URL(url)}) //nolint:gosec // base64
			continue
		}
		out = append(out, partView{Label: fmt.Sprintf("image, not loaded: %s (%d bytes)", name(part.URL), len(part.URL))})
	}
	for _, kind := range other {
		out = append(out, partView{Label: "part of type " + name(kind) + ", only in the raw row"})
	}
	return out
}

// part returns a text of a message: what a tool said is folded if it is long, and what
// others said is rendered if it is Markdown.
func (p *painter) part(m *formats.Message, text string) partView {
	shown := text
	if !m.Sampled {
		shown = jsontext.Lines(text)
	}
	v := partView{Text: passage{Piece: report.Cut(shown, p.text)}}
	if m.Role != "tool" {
		if !p.plain && shown == text {
			v.HTML = markdownOf(v.Text.Text)
		}
		return v
	}
	if lines := strings.Count(strings.TrimRight(shown, "\n"), "\n") + 1; lines > foldLines || len(text) > foldBytes {
		v.Fold = plural.Of(lines, "line") + ", " + plural.Bytes(int64(len(text)))
		v.First, _, _ = strings.Cut(strings.TrimSpace(v.Text.Text), "\n")
		v.First, v.Open = name(v.First), p.whole
	}
	return v
}

var oneLine = strings.NewReplacer("\r\n", " ⏎ ", "\n", " ⏎ ", "\t", " ")

// name returns a short text in one line.
func name(text string) string { return beginning(oneLine.Replace(text), nameBytes) }

// notesOf returns what is known of a message besides its text.
func notesOf(t *formats.Trajectory, i int) (notes []string) {
	m := &t.Messages[i]
	if m.ToolCallID != "" {
		notes = append(notes, "answers "+name(m.ToolCallID))
	}
	if !m.Sampled {
		return notes
	}
	if m.FinishReason != "" {
		notes = append(notes, "finish "+name(m.FinishReason))
	}
	if m.Call >= 0 && int(m.Call) < len(t.Calls) {
		c := &t.Calls[m.Call]
		note := fmt.Sprintf("call %d", m.Call)
		if c.Function != "" {
			note += " of " + name(c.Function)
		}
		if c.Model != "" {
			note += " to " + name(c.Model)
		}
		notes = append(notes, note)
	}
	if v := policyOf(t, i); v != "" {
		notes = append(notes, "policy "+v)
	}
	sum, valid := 0.0, 0
	for _, l := range m.Logprobs {
		if !noLogprob(l) {
			sum, valid = sum+float64(l), valid+1
		}
	}
	if valid > 0 {
		notes = append(notes, fmt.Sprintf("mean logprob %.3f", sum/float64(valid)))
	}
	if n := len(m.Logprobs) - valid; n > 0 {
		notes = append(notes, plural.Of(n, "invalid logprob"))
	}
	return notes
}

// policyOf returns the policy version that sampled a message, "" if it is not known.
func policyOf(t *formats.Trajectory, i int) string {
	v := t.PolicyVersion
	if c := t.Messages[i].Call; c >= 0 && int(c) < len(t.Calls) && t.Calls[c].PolicyVersion != nil {
		v = t.Calls[c].PolicyVersion
	}
	return version(v)
}

func version(v *int64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}

// fateOf returns whether the tokens of a message train, and why.
func fateOf(c *inspect.Conversation, i int) fate {
	t := c.Trajectory()
	m := &t.Messages[i]
	switch why := c.Training(i); {
	case !m.Sampled && m.Role == "assistant":
		return fate{State: notSampled, Why: "input: the agent wrote it, or a call that is not recorded"}
	case !m.Sampled:
		return fate{State: notSampled}
	case strings.HasPrefix(why, "does not train"):
		return fate{State: inspect.TrainsNo, Why: why}
	case c.Trains == inspect.TrainsUndecided:
		return fate{State: inspect.TrainsUndecided, Why: why}
	default:
		if a := t.AdvantageOf(i); a != nil {
			return fate{inspect.TrainsYes, fmt.Sprintf("%s, advantage %+.4g", why, *a), *a < 0}
		}
		return fate{State: inspect.TrainsYes, Why: why}
	}
}

// breaks are the causes of prefix breaks that rollout records, with what they mean.
var breaks = map[string]string{
	"reasoning": "earlier reasoning was left out of the prompt",
	"arguments": "the arguments of an earlier tool call were written anew",
	"content":   "the agent changed an earlier answer",
	"template":  "the chat template rendered the same messages otherwise",
	"unknown":   "the token ids of the earlier answer are not known",
}

func breakWhy(cause string) string {
	if why, known := breaks[cause]; known {
		return cause + ": " + why
	}
	return name(cause)
}
