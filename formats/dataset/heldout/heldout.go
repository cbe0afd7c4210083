// Package heldout tells what must not be trained on: the examples of validations and benchmarks, by their ids, their
// content, and runs of words that a row has in common with them.
package heldout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
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
	Sources   []string         // the URIs, and those of More
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
	HeldText string // the same of what is held out, in this row of the source of this number
	HeldRow  int64
	Source   int
}

// String is the same wherever the sources are: the inputs of role holdout have their places.
func (h *Hit) String() string {
	if h.Words == "" {
		return h.Text
	}
	return fmt.Sprintf("%s; against row %d of holdout %d: %s", h.Text, h.HeldRow, h.Source, h.HeldText)
}

// Columns are those of a row that are compared.
var Columns = []string{"trajectory_id", "example_id", "example", "messages.role", "messages.content",
	"messages.content_parts", "messages.reasoning", "messages.tool_calls", "messages.sampled"}

// Open reads what is held out; nil if the options name nothing. A URI that holds nothing out is an error.
func Open(ctx context.Context, o Options) (*Set, error) {
	if o.Ngrams < 0 || o.Ngrams == 0 && len(o.Fields) > 0 || o.Ngrams > 0 && len(o.URIs)+len(o.More) == 0 {
		return nil, fault.Errorf(fault.Usage, "give URIs and 13, as is usual", "%s-ngrams: no words to compare", o.Flag)
	}
	s := &Set{Options: o, secrets: secret.From(ctx), index: index{n: o.Ngrams, seen: map[xxh3.Uint128]bool{}},
		short: map[string]int64{}, ids: map[string]bool{},
		contents: map[xxh3.Uint128]bool{}, questions: map[xxh3.Uint128]string{}}
	for _, uri := range o.URIs {
		rows, long, read := s.rows, s.long, s.dataset
		if slices.Contains(records.Extensions(), records.Extension(uri)) {
			read = s.file
		}
		switch err := read(ctx, uri); {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", o.Flag, err)
		case s.rows == rows:
			return nil, fault.Invalid(storage.Redact(uri), "is it the right file?", nil, "nothing is held out: there is no example in it")
		case o.Ngrams > 0 && s.long == long:
			return nil, fault.Invalid(storage.Redact(uri), "give fewer words, or fields with longer texts, example.NAME or messages.ROLE", nil,
				"nothing is held out: of %d examples no text that is compared has %d words", s.rows-rows, o.Ngrams)
		}
	}
	for _, d := range o.More {
		if err := s.add(ctx, d); err != nil {
			return nil, err
		}
	}
	if s.rows+s.long == 0 {
		return nil, nil
	}
	if len(s.short) > 0 {
		o.Warn(fmt.Sprintf("held-out texts of fewer than %d words are not compared, by field: %v; %d texts are",
			o.Ngrams, s.short, s.long))
	}
	s.index.build()
	return s, nil
}

// file learns a file of examples.
func (s *Set) file(ctx context.Context, uri string) error {
	file, digest, err := storage.OpenFile(ctx, uri)
	if errors.Is(err, storage.ErrNotExist) {
		return fault.Invalid(storage.Redact(uri), "a path is relative to the current folder", storage.ErrNotExist, "there is no task file")
	}
	if err != nil {
		return err
	}
	defer file.Close() // read only: nothing is lost
	name := storage.Redact(uri)
	set, _, err := examples.Read(name, file, file.Size(), examples.Options{NoQuestions: true})
	if err != nil {
		return err
	}
	defer set.Close() // a temporary file
	s.Sources = append(s.Sources, name)
	s.Refs = append(s.Refs, manifest.Ref{Role: "holdout", URI: runroot.Relative(s.At, uri), Digest: digest})
	for i := range set.Len() {
		e, err := set.At(i)
		if err != nil {
			return err
		}
		s.learn(int64(e.Row), &formats.Trajectory{ExampleID: e.ID, Example: string(e.Fields)})
	}
	return nil
}

func (s *Set) dataset(ctx context.Context, uri string) error {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	if err != nil {
		return err
	}
	if d.Kind != schema.KindTrajectories {
		return fault.Invalid(d.URI(), "name the dataset that rollout or import wrote, or a task file", nil,
			"it holds %s", d.Kind)
	}
	s.Refs = append(s.Refs, d.Ref("holdout", s.At))
	return s.add(ctx, d)
}

func (s *Set) add(ctx context.Context, d *dataset.Dataset) error {
	r, err := dataset.NewReaderOf[formats.Trajectory](ctx, d, d.All(), Columns)
	if err != nil {
		return err
	}
	s.Sources = append(s.Sources, d.URI())
	row := int64(0)
	for t, err := range r.Each(64) {
		if err != nil {
			return err
		}
		s.learn(row, t)
		row++
	}
	return nil
}

func (s *Set) learn(row int64, t *formats.Trajectory) {
	content, says := formats.ExampleContent(t.Example)
	if says {
		s.contents[content] = true
	}
	named := t.ExampleID != "" && !formats.Numbered(t.ExampleID)
	if named && !s.ids[t.ExampleID] {
		s.ids[strings.Clone(t.ExampleID)] = true
	}
	if named || says {
		s.rows++
	}
	if key, ok := asked(t); ok {
		if was, again := s.questions[key]; again && was != t.ExampleID {
			s.questions[key] = ""
		} else {
			s.questions[key] = strings.Clone(t.ExampleID)
		}
	}
	s.each(t, func(field, words string, sampled bool) {
		switch {
		case sampled, field == "example.id", len(s.Fields) > 0 && !slices.Contains(s.Fields, field):
			// what a policy says is not held out, and an id is no text
		case s.index.add(text{strings.Clone(field), words, row, len(s.Sources) - 1}):
			s.long++
		default:
			s.short[strings.Clone(field)]++
		}
	})
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

// each calls f with the texts of a row, if they are compared, without secrets: part of one would not be recognized.
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
