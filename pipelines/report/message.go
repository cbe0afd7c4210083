package report

import (
	"html/template"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// shownTrajectory is a trajectory as the page shows it. Its texts are data: the
// template escapes them.
type shownTrajectory struct {
	Anchor       string
	Epoch        int
	Validation   bool
	Row          shownRow // without its texts
	Facts        *facts
	Example      Piece
	Answer       Piece
	Error        Piece
	Messages     []messageView
	Of           int // messages
	LeftOut      int // messages
	LeftOutAfter int // the index of the message after which they were
}

type messageView struct {
	Number                   int
	Role, Name, Finish, From string
	Sampled, Branches        bool
	Text, Reasoning          Piece
	Calls                    []callView
	Images                   []template.URL
	Lost                     []string // what is not shown
	cost                     int
}

type callView struct {
	Name      string
	Arguments Piece
}

// The sizes below which messages are cut, one after the other, until a trajectory
// fits into its share of the page.
var caps = []int{6000, 3000, 1500, 600, 200, 80}

// markup is how many bytes of the page a message takes beside its texts.
const markup = 700

// viewOf returns a trajectory, cut to about so many bytes of the page.
func viewOf(r *shownRow, budget int, images *int) *shownTrajectory {
	v := &shownTrajectory{Row: *r,
		Example: Cut(jsontext.Indent(r.Example), min(2500, budget/8)), Answer: Cut(r.Answer, min(1500, budget/8)),
		Error: Cut(r.Error, min(1500, budget/8))}
	for _, limit := range caps {
		v.Messages = v.Messages[:0]
		total := 0
		for i := range r.Messages {
			m := messageOf(r.Messages, i, limit)
			total += m.cost
			v.Messages = append(v.Messages, m)
			if total > budget && limit != caps[len(caps)-1] {
				break
			}
		}
		if total <= budget {
			break
		}
	}
	v.dropMiddle(budget)
	for i := range v.Messages {
		m := &v.Messages[i]
		m.Images = imagesOf(&r.Messages[m.Number], images)
		shown := len(m.Images)
		m.Lost = slices.DeleteFunc(m.Lost, func(what string) bool {
			if what != "image_url" || shown == 0 {
				return false
			}
			shown--
			return true
		})
	}
	v.Of = len(r.Messages)
	v.Row.Example, v.Row.Answer, v.Row.Error, v.Row.Messages = "", "", "", nil // which are not kept in memory
	return v
}

// dropMiddle leaves out messages between the first and the last ones that fit.
func (v *shownTrajectory) dropMiddle(budget int) {
	total, head, tail := 0, 0, len(v.Messages)
	for front := true; head < tail; front = !front {
		m := &v.Messages[head]
		if !front {
			m = &v.Messages[tail-1]
		}
		if total += m.cost; total > budget {
			break
		}
		if front {
			head++
		} else {
			tail--
		}
	}
	v.LeftOut, v.LeftOutAfter = tail-head, head
	v.Messages = slices.Delete(v.Messages, head, tail)
}

func messageOf(all []shownMessage, i, limit int) messageView {
	m := &all[i]
	text, lost := chat.Text(&formats.Message{Content: m.Content, ContentParts: m.ContentParts})
	v := messageView{Number: i, Role: visible(short(m.Role, 40)), Name: visible(short(m.Name, 80)),
		From: visible(short(m.ToolCallID, 60)), Sampled: m.Sampled,
		Branches: int(m.Parent) != i-1, Finish: visible(short(m.FinishReason, 40)), Text: Cut(text, limit),
		Reasoning: Cut(m.Reasoning, limit)}
	if m.Role == "tool" {
		v.Text = Cut(jsontext.Indent(text), limit)
	}
	for _, what := range lost[:min(len(lost), 10)] {
		v.Lost = append(v.Lost, visible(short(what, 40)))
	}
	v.cost = markup + v.Text.cost + v.Reasoning.cost + 60*len(v.Lost)
	for n, c := range m.ToolCalls {
		if n == 20 {
			v.Lost = append(v.Lost, "further tool calls")
			break
		}
		call := callView{visible(short(c.Name, 100)), Cut(jsontext.Indent(c.Arguments), limit)}
		v.Calls = append(v.Calls, call)
		v.cost += call.Arguments.cost + 500
	}
	return v
}

const (
	maxImage  = 64 << 10 // bytes of an image's URL
	maxImages = 1 << 20  // of all images
)

// imagesOf returns the images of a message that can be shown, as long as there is
// room.
func imagesOf(m *shownMessage, room *int) []template.URL {
	parts, _ := chat.PartsOf(&formats.Message{ContentParts: m.ContentParts})
	var out []template.URL
	for _, p := range parts {
		if url := p.Raster(min(maxImage, *room)); url != "" {
			*room -= len(url)
			out = append(out, template.URL(url)) //nolint:gosec // base64
		}
	}
	return out
}
