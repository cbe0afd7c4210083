package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/page"
)

// The sizes of a message's page.
const (
	wholeText    = 8 << 20 // bytes of a text: a column of a dataset has no more
	wholeTokens  = 2000
	wholePrompts = 2000 // ids
)

type messageModel struct {
	Frame
	Message       *page.Message
	Prompt        string // ids of the prompt's new tokens
	PromptIDs     int
	Tokens        *page.TokenRun
	Earlier, More string
	Plain         bool
	PlainURL      string
}

// messagePage shows a message whole, with its tokens in a table too.
func (s *Server) messagePage(r *http.Request) (any, error) {
	v, err := s.read(r)
	if err != nil {
		return nil, err
	}
	t := &v.t.Trajectory
	n, err := strconv.Atoi(segment(r, "n"))
	if err != nil || n < 0 || n >= len(t.Messages) {
		return nil, missing("no message %q: the trajectory has %d", segment(r, "n"), len(t.Messages))
	}
	from, err := countOf(r, "from")
	if err != nil {
		return nil, err
	}
	self := func(i int, pairs ...any) string {
		pairs = append(pairs, "text", r.FormValue("text"))
		return listed(r, page.Link("d", v.Key, "t", t.TrajectoryID, "message", i), pairs...)
	}
	plain := r.FormValue("text") == plainText
	p := &page.Painter{Conversation: v.c, Text: wholeText, Image: imageBytes, Images: pageImages, Plain: plain, Whole: true,
		URL: func(i int) string { return self(i) }}
	raw := &t.Messages[n]
	m := &messageModel{Frame: Frame{Title: fmt.Sprintf("Message %d", n),
		Trail: append(s.trailOf(v.Entry),
			Crumb{"trajectory " + t.TrajectoryID,
				v.url(r, v.t.Is.Row, "from", pageOf(t, n)) + fmt.Sprintf("#m%d", n)})},
		Message: p.Message(model.Place{Number: n, After: n - 1}), PromptIDs: len(raw.PromptDeltaIDs),
		Plain: plain, PlainURL: otherText(r, page.Link("d", v.Key, "t", t.TrajectoryID, "message", n))}
	if n > 0 {
		m.Prev = self(n - 1)
	}
	if n+1 < len(t.Messages) {
		m.Next = self(n + 1)
	}
	m.Prompt = strings.Trim(fmt.Sprint(raw.PromptDeltaIDs[:min(m.PromptIDs, wholePrompts)]), "[]")
	if raw.Sampled {
		m.Tokens = page.TokensOf(v.c, n, from, wholeTokens)
		if from > 0 {
			m.Earlier = self(n, "from", max(0, from-wholeTokens)) + "#tokens"
		}
		if m.Tokens.Left() > 0 {
			m.More = self(n, "from", from+wholeTokens) + "#tokens"
		}
	}
	return m, nil
}

// pageOf returns where the page of a trajectory begins that has a message.
func pageOf(t *formats.Trajectory, message int) int {
	at := slices.IndexFunc(model.Places(t), func(p model.Place) bool { return p.Number == message })
	return at - at%pageMessages
}
