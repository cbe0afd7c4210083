package validate

import (
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
)

// The checks of conversations, and of what a source may leave out.

// ofRows returns a check that counts the valid wide rows that are bad.
func ofRows(bad func(*Row, *formats.Trajectory) bool) func(*Count, *Row) {
	return ofWide(func(c *Count, r *Row, t *formats.Trajectory) {
		if bad(r, t) {
			c.Add(r, "", "")
		}
	})
}

// ofWide returns a check of the valid wide rows, all of which count.
func ofWide(count func(*Count, *Row, *formats.Trajectory)) func(*Count, *Row) {
	return func(c *Count, r *Row) {
		if t := r.wide(); t != nil {
			c.Of++
			count(c, r, t)
		}
	}
}

// noPreferences reports whether neither the row can be compared with others of its
// group nor its candidates with each other.
func noPreferences(r *Row, t *formats.Trajectory) bool {
	_, has := r.score()
	return !has && !comparesCandidates(t)
}

// score returns the number by which a row is compared in its group, if it has one:
// its reward, else its preference.
func (r *Row) score() (float64, bool) {
	switch {
	case rewarded(r):
		return *r.Reward, true
	case r.Source == nil || r.Source.Preferred == nil:
		return 0, false
	case *r.Source.Preferred:
		return 1, true
	}
	return 0, true
}

// comparesCandidates reports whether pairs can be made of a row's own candidates.
func comparesCandidates(t *formats.Trajectory) bool {
	var first *float64
	for i := range t.Candidates {
		switch score := t.Candidates[i].Score; {
		case score == nil:
		case first == nil:
			first = score
		case *score != *first:
			return true
		}
	}
	return false
}

// contentParts reports whether a message has parts that are not text, or the row media
// beside the text.
func contentParts(r *Row, _ *formats.Trajectory) bool {
	return r.shows().parts || r.keeps().media != ""
}

// mediaTokens reports whether an answer was sampled after an image or the like.
func mediaTokens(r *Row, t *formats.Trajectory) bool {
	if !r.shows().parts {
		return false
	}
	for i := range t.Messages {
		for at := i; t.Trained(i) && at >= 0; at = int(t.Messages[at].Parent) {
			if chat.Media(&t.Messages[at]) != "" {
				return true
			}
		}
	}
	return false
}

func badArguments(r *Row, t *formats.Trajectory) bool {
	return r.shows().calls && slices.ContainsFunc(t.Messages, func(m formats.Message) bool {
		return slices.ContainsFunc(m.ToolCalls, func(c formats.ToolCall) bool { return !json.Valid([]byte(c.Arguments)) })
	})
}

func lastNotAssistant(r *Row, t *formats.Trajectory) bool {
	last := len(t.Messages) - 1
	if r.shows().branched {
		if path := t.Main(); len(path) > 0 {
			last = path[len(path)-1]
		}
	}
	return last >= 0 && t.Messages[last].Role != "assistant"
}

// refused returns why the whole conversation is no text that trains, or "".
func (r *Row) refused(t *formats.Trajectory) string {
	if s := r.shows(); !r.hasWhole && (s.branched || s.foreign) {
		_, r.whole = trainset.Whole(t)
		r.hasWhole = true
	}
	return r.whole
}

func roleOrder(_ *Row, t *formats.Trajectory) bool {
	for i := range t.Messages {
		if !follows(t, i) {
			return true
		}
	}
	return false
}

// follows reports whether a message's role may come after its parent's. A tool
// message must come after a call, which check tool_calls looks at.
func follows(t *formats.Trajectory, i int) bool {
	before := ""
	if p := t.Messages[i].Parent; p >= 0 && int(p) < i {
		before = t.Messages[p].Role
	}
	switch t.Messages[i].Role {
	case "system", "developer":
		return before == "" || before == "system" || before == "developer"
	case "user":
		return before != "user"
	case "assistant":
		return before != "assistant" && before != ""
	case "tool", "function":
		return slices.Contains([]string{"assistant", "tool", "function"}, before)
	}
	return false
}
