// Package heldout tells what must not be trained on: the examples of validations and benchmarks, by their ids, their
// content, and runs of words that a row has in common with them.
package heldout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/secret"
)

// Options say what is held out.
type Options struct {
	URIs   []string           // of rollouts and imports, or of files of examples, known by their extension
	More   []*dataset.Dataset // without Refs, and they may be empty
	Flag   string             // that names the URIs, for errors
	At     string             // URI of the manifest that has the Refs
	Ngrams int                // words of a run that rows must not share with held-out texts; 0: texts are not compared
	Fields []string           // of held-out texts that are compared: "example.FIELD" or "messages.ROLE"; nil: all
	Warn   func(text string)  // is told of texts that are too short to be compared
}

// Set is what is held out. It is not safe for concurrent use. Of a nil Set nothing is held out.
type Set struct {
	Options
	Refs      []manifest.Ref   // of the URIs, with digests
	rows      int64            // with an id or content
	long      int64            // texts that are compared
	short     map[string]int64 // texts of fewer than Ngrams words, by field
	ids       map[string]bool
	contents  map[xxh3.Uint128]bool
	questions map[xxh3.Uint128]string // the only example that asks this; "" for several
	index     index
	secrets   *secret.Set
}

// Hit is why a row is held out.
type Hit struct {
	Words    string // in common, as they are compared; "" if the example itself is held out, as Text says
	Text     string // of the row: the field, and the words in brackets with some text around them
	HeldText string // the same of what is held out, after the dataset or file
	HeldRow  int64
}

func (h *Hit) String() string {
	if h.Words == "" {
		return h.Text
	}
	return fmt.Sprintf("%s; against row %d: %s", h.Text, h.HeldRow, h.HeldText)
}

// Holds returns why a row is held out, or nil. An id that is only a row number identifies nothing; two examples are
// equal if they are, apart from the order of keys and a field "id". Words are compared in all texts of the example and
// of the messages, what was sampled too, with reasoning and the arguments of calls.
func (s *Set) Holds(t *formats.Trajectory) (hit *Hit) {
	if s == nil {
		return nil
	}
	if s.ids[t.ExampleID] {
		return &Hit{Text: "an example of this id is held out"}
	}
	if key, ok := formats.ExampleContent(t.Example); ok && s.contents[key] {
		return &Hit{Text: "an example that says the same is held out"}
	}
	s.each(t, func(field, text string, _ bool) {
		if hit == nil {
			hit = s.index.hit(field, text)
		}
	})
	return hit
}

// Empty reports whether nothing is held out.
func (s *Set) Empty() bool { return s == nil || s.rows+s.long == 0 }

// Asks reports whether the first question of a row is that of exactly one held-out example.
func (s *Set) Asks(t *formats.Trajectory) bool {
	key, ok := asked(t)
	return ok && s.questions[key] != ""
}

// asked returns a digest of the words of the user's first message, and false if they are too few to identify it.
func asked(t *formats.Trajectory) (xxh3.Uint128, bool) {
	i := slices.IndexFunc(t.Messages, func(m formats.Message) bool { return m.Role == "user" })
	if i < 0 {
		return xxh3.Uint128{}, false
	}
	text := strings.Join(strings.Fields(t.Messages[i].Content), " ")
	return xxh3.HashString128(text), len(text) >= 24
}

// each calls f with the texts of a row, if they are compared. They have no secrets: part of one would not be recognized.
func (s *Set) each(t *formats.Trajectory, f func(field, text string, sampled bool)) {
	if s.Ngrams == 0 {
		return
	}
	walk("example", json.RawMessage(t.Example), func(field, text string) { f(field, s.secrets.Redact(text), false) })
	for i := range t.Messages {
		m := &t.Messages[i]
		of := func(field, text string) { f(field, s.secrets.Redact(text), m.Sampled) }
		walk("messages."+m.Role, chat.ContentText(m), of)
		walk("messages."+m.Role, m.Reasoning, of)
		for _, c := range m.ToolCalls {
			walk("messages."+m.Role, json.RawMessage(c.Arguments), of)
		}
	}
}

// walk calls f with each text in a value that is not empty. What is not JSON is a text.
func walk(field string, value any, f func(field, text string)) {
	switch v := value.(type) {
	case json.RawMessage:
		var in any
		if json.Unmarshal(v, &in) != nil {
			in = string(v)
		}
		walk(field, in, f)
	case string:
		if v != "" {
			f(field, v)
		}
	case []any:
		for _, e := range v {
			walk(field, e, f)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			walk(field+"."+k, v[k], f)
		}
	}
}
