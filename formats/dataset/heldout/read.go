package heldout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Columns are those of a row that are compared.
var Columns = []string{"trajectory_id", "example_id", "example", "messages.role", "messages.content",
	"messages.content_parts", "messages.reasoning", "messages.tool_calls", "messages.sampled"}

// Open reads what is held out. A URI that holds nothing out is an error, and so is comparing words with nothing.
func Open(ctx context.Context, o Options) (*Set, error) {
	if o.Ngrams < 0 || o.Ngrams == 0 && len(o.Fields) > 0 || o.Ngrams > 0 && len(o.URIs)+len(o.More) == 0 {
		return nil, fault.Errorf(fault.Usage, "give URIs and a number of words, 13 is usual", "%s-ngrams: no words to compare", o.Flag)
	}
	s := &Set{Options: o, secrets: secret.From(ctx), index: index{n: o.Ngrams, seen: map[xxh3.Uint128]bool{}},
		short: map[string]int64{}, ids: map[string]bool{},
		contents: map[xxh3.Uint128]bool{}, questions: map[xxh3.Uint128]string{}}
	for _, uri := range o.URIs {
		rows, long, read := s.rows, s.long, s.dataset
		if slices.Contains(records.Extensions(), records.Extension(uri)) {
			read = s.file
		}
		if err := read(ctx, uri); err != nil {
			return nil, fmt.Errorf("reading held-out %q: %w", storage.Redact(uri), err)
		}
		if s.rows == rows || o.Ngrams > 0 && s.long == long {
			return nil, fault.Invalid(storage.Redact(uri), "name examples, and for short texts fewer words", nil,
				"nothing is held out by %d rows with an id or content, and %d texts of enough words", s.rows-rows, s.long-long)
		}
	}
	for _, d := range o.More {
		if err := s.add(ctx, d); err != nil {
			return nil, err
		}
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
	s.Refs = append(s.Refs, manifest.Ref{Role: "holdout", URI: name, Digest: digest})
	for i := range set.Len() {
		e, err := set.At(i)
		if err != nil {
			return err
		}
		s.learn(name, int64(e.Row), &formats.Trajectory{ExampleID: e.ID, Example: string(e.Fields)})
	}
	return nil
}

func (s *Set) dataset(ctx context.Context, uri string) error {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{Kind: schema.KindTrajectories})
	if err != nil {
		return err
	}
	s.Refs = append(s.Refs, d.Ref("holdout", s.At))
	return s.add(ctx, d)
}

func (s *Set) add(ctx context.Context, d *dataset.Dataset) error {
	r, err := dataset.NewReaderOf[formats.Trajectory](ctx, d, d.All(), Columns)
	if err != nil {
		return err
	}
	row := int64(0)
	for t, err := range r.Each(64) {
		if err != nil {
			return err
		}
		s.learn(d.URI(), row, t)
		row++
	}
	return nil
}

func (s *Set) learn(source string, row int64, t *formats.Trajectory) {
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
		if was, again := s.questions[key]; !again {
			s.questions[key] = strings.Clone(t.ExampleID)
		} else if was != t.ExampleID {
			s.questions[key] = ""
		}
	}
	s.each(t, func(field, words string, sampled bool) {
		switch {
		case sampled || len(s.Fields) > 0 && !slices.Contains(s.Fields, field): // what a policy says is not held out
		case s.index.add(text{source, strings.Clone(field), words, row}):
			s.long++
		default:
			s.short[strings.Clone(field)]++
		}
	})
}
