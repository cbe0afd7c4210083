package audit

import (
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
)

// example is the example of a row, and the messages to its model.
type example struct {
	TrajectoryID string     `parquet:"trajectory_id"`
	ExampleID    string     `parquet:"example_id,dict"`
	Example      string     `parquet:"example"`
	Messages     []question `parquet:"messages,list"`
}

type question struct {
	Role    string `parquet:"role,dict"`
	Content string `parquet:"content,optional"`
}

// minQuestion is the minimum length of a user's first message that can identify an example.
const minQuestion = 24

// asked returns a hash of the words of the user's first message. It returns false
// if there is no such message, or it is too short to identify an example.
func (e *example) asked() (xxh3.Uint128, bool) {
	for _, m := range e.Messages {
		if m.Role == "user" {
			text := strings.Join(strings.Fields(m.Content), " ")
			return xxh3.HashString128(text), len(text) >= minQuestion
		}
	}
	return xxh3.Uint128{}, false
}

func (e *example) says(o *example) bool { return e.ExampleID == o.ExampleID && e.Example == o.Example }

// heldOut holds the examples of validations: their ids (unless these are row
// numbers), contents and first questions. Its size is proportional to their number.
type heldOut struct {
	ids       map[string]bool
	contents  map[xxh3.Uint128]bool
	questions map[xxh3.Uint128]string // the only example that asks this; "" for several
}

func (h *heldOut) add(_ int64, e *example) {
	if !formats.Numbered(e.ExampleID) {
		h.ids[e.ExampleID] = true
	}
	if key, ok := formats.ExampleContent(e.Example); ok {
		h.contents[key] = true
	}
	if key, ok := e.asked(); ok {
		if was, again := h.questions[key]; again && was != e.ExampleID {
			h.questions[key] = ""
		} else {
			h.questions[key] = e.ExampleID
		}
	}
}

func (h *heldOut) has(e *example) bool {
	key, says := formats.ExampleContent(e.Example)
	return h.ids[e.ExampleID] || says && h.contents[key]
}

// asks reports whether the first question of e is that of exactly one held-out example.
func (h *heldOut) asks(e *example) bool {
	key, ok := e.asked()
	return ok && h.questions[key] != ""
}

func (e *example) clone() example {
	out := example{strings.Clone(e.TrajectoryID), strings.Clone(e.ExampleID), strings.Clone(e.Example),
		make([]question, len(e.Messages))}
	for i, m := range e.Messages {
		out.Messages[i] = question{strings.Clone(m.Role), strings.Clone(m.Content)}
	}
	return out
}
