package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// TokenRun is a range of the tokens of one message.
type TokenRun struct {
	From, Of int
	List     []Token
	Note     string // what is missing
	Why      string // whether they train
}

// Left returns the number of tokens after the range.
func (r *TokenRun) Left() int { return r.Of - r.From - len(r.List) }

// Token is a sampled token.
type Token struct {
	Number      int
	Text        string
	Class       string // of its probability, and of its advantage
	ID, Logprob string // "" if it is not known
	Probability string
	Label       string // all of it
}

// tokenBytes is how much of a token's text is shown.
const tokenBytes = 400

// TokensOf returns at most so many tokens of a sampled message, from one on.
func TokensOf(c *model.Conversation, i, from, limit int) *TokenRun {
	t := c.Trajectory()
	m := &t.Messages[i]
	r := &TokenRun{From: from, Of: max(len(m.TokenIDs), len(m.Logprobs)), Why: c.FateOf(i).Why}
	note, texts, logprobs := aligned(m)
	r.Note = note
	policy, own, all := c.PolicyOf(i), t.TokenAdvantages(i), t.AdvantageOf(i)
	for n := from; n < r.Of && n < from+limit; n++ {
		x := Token{Number: n, Class: "none"}
		label := []string{fmt.Sprintf("token %d", n)}
		if n < len(m.TokenIDs) {
			x.ID = fmt.Sprint(m.TokenIDs[n])
			label = append(label, "id "+x.ID)
		}
		if n < len(logprobs) {
			x.logprob(logprobs[n])
			label = append(label, strings.TrimSpace("logprob "+x.Logprob+" "+x.Probability))
		}
		for _, s := range c.Signals { // of a teacher, or of the trainer
			if int(s.Message) == i && n < len(s.Values) {
				label = append(label, fmt.Sprintf("%s %.4g", s.Component, s.Values[n]))
			}
		}
		if policy != "" {
			label = append(label, "policy "+policy)
		}
		if n < len(own) {
			all = new(float64(own[n]))
			label = append(label, fmt.Sprintf("advantage %+.4g", *all))
		}
		if all != nil && *all != 0 {
			x.Class += map[bool]string{true: " more", false: " less"}[*all > 0]
		}
		x.Text = "⟨" + x.ID + "⟩"
		if n < len(texts) && texts[n] != "" {
			x.Text = strings.ReplaceAll(text.Cut(texts[n], tokenBytes).Text, "\n", "⏎\n")
		}
		x.Label = strings.Join(append(label, r.Why), ", ")
		r.List = append(r.List, x)
	}
	return r
}

// aligned returns the texts and the log probabilities of a message if there is one
// for each token, and what is missing.
func aligned(m *formats.Message) (note string, texts []string, logprobs []float32) {
	var notes []string
	n := len(m.TokenIDs)
	if n == 0 {
		n = len(m.Logprobs)
		notes = append(notes, "the engine gave no token ids")
	}
	switch len(m.Logprobs) {
	case n:
		logprobs = m.Logprobs
	case 0:
		notes = append(notes, "the engine gave no log probabilities")
	default:
		notes = append(notes, fmt.Sprintf("%d log probabilities for %d tokens: not aligned, so not shown",
			len(m.Logprobs), n))
	}
	switch len(m.TokenTexts) {
	case n:
		texts = m.TokenTexts
	case 0:
		if n > 0 {
			notes = append(notes, "the engine gave no token texts: ids are shown")
		}
	default:
		notes = append(notes, fmt.Sprintf("%d texts for %d tokens: not aligned, so ids are shown", len(m.TokenTexts), n))
	}
	return strings.Join(notes, "; "), texts, logprobs
}

// logprob adds a token's log probability. Five classes have colours.
func (x *Token) logprob(l float32) {
	x.Logprob = fmt.Sprintf("%.4g", l)
	if model.NoLogprob(l) {
		x.Class, x.Probability = "bad", "(no valid log probability)"
		return
	}
	p := math.Exp(float64(l))
	x.Probability = fmt.Sprintf("(%.3g %%)", 100*p)
	switch {
	case p >= 0.9:
		x.Class = "p90"
	case p >= 0.5:
		x.Class = "p50"
	case p >= 0.1:
		x.Class = "p10"
	case p >= 0.01:
		x.Class = "p1"
	default:
		x.Class = "p0"
	}
}
