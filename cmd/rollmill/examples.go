package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
)

// taskFile is the file of examples to read, and its format.
type taskFile struct {
	Examples string // URI
	Format   examples.Options
}

func (f *taskFile) Declare(d *plugin.Declarer) {
	o := &f.Format
	d.Heading(plugin.Input)
	d.String(&f.Examples, "examples", "read the examples from the task file at this `URI`, or files such as 'tasks/*.jsonl': JSON, JSON lines, CSV or Parquet").
		Open().Common()
	d.String(&o.Format, "examples-format", "read the task file in this `FORMAT`").Shown("by its extension")
	d.String(&o.Names.ID, "id-key", "read the id from this `COLUMN`").Shown("id")
	d.String(&o.Names.Question, "question-key", "read the question from this `COLUMN`").Shown("question")
	d.String(&o.Names.Answer, "answer-key", "read the reference answer from this `COLUMN`").Shown("answer")
	d.String(&o.Names.GeneratedAnswer, "generated-answer-key", "read the answer of another program from this `COLUMN`").
		Shown("generated_answer")
	d.Bool(&o.Unstructured, "unstructured", "use the whole row, as JSON, as the question")
	d.Bool(&o.RequireQuestion, "require-question", "drop rows without a question, and refuse a file without that column")
	d.Lists(&o.Allow, "allow", "keep only rows that match this `COLUMN=PATTERN`")
	d.Lists(&o.Deny, "deny", "drop rows that match this `COLUMN=PATTERN`")
}

// read reads the task file and logs the rows that it dropped. The set is open
// until the command ends.
func (f *taskFile) read(ctx context.Context, s *cli.Session) (*examples.Set, dataset.Ref, error) {
	uri := f.Examples
	ref := dataset.Ref{Role: "examples", URI: storage.Redact(uri)}
	if uri == "" {
		return nil, ref, cli.Usagef(s.SettingHint("name the task file", "rollout", "examples"), "no examples")
	}
	uris, err := filesNamed(ctx, uri)
	if err != nil {
		return nil, ref, err
	}
	var digests []string
	set, report, err := examples.ReadAll(ref.URI, func(yield func(examples.File, error) bool) {
		if len(uris) == 0 {
			yield(examples.File{}, storage.ErrNotExist)
		}
		for more, i := true, 0; more && i < len(uris); i++ {
			file, digest, err := openFile(ctx, uris[i])
			if err != nil {
				yield(examples.File{}, err)
				return
			}
			digests = append(digests, digest)
			more = yield(examples.File{Name: storage.Redact(uris[i]), ReaderAt: file, Size: file.Size()}, nil)
			file.Close() // read only: nothing is lost
		}
	}, f.Format)
	if errors.Is(err, storage.ErrNotExist) {
		return nil, ref, formats.Invalid(ref.URI, "check --examples; a path is relative to where rollmill is run, and a * in "+
			"the name stands for any text", storage.ErrNotExist, "no task file")
	}
	if ref.Digest = strings.Join(digests, ""); len(digests) > 1 {
		sum := sha256.Sum256([]byte(ref.Digest))
		ref.Digest = hex.EncodeToString(sum[:])
	}
	if err == nil {
		s.Defer(set)
	}
	for _, w := range report.Warnings {
		s.Logger().Warn(w, "examples", ref.URI)
	}
	for reason, n := range report.Counts {
		s.Logger().Warn("examples dropped", "examples", ref.URI, "reason", reason, "rows", n)
	}
	return set, ref, err
}

// filesNamed returns the files that a URI names, in the order of their names: those
// that match if the name has a *.
func filesNamed(ctx context.Context, uri string) ([]string, error) {
	dir, name := storage.Split(uri)
	before, _, pattern := strings.Cut(name, "*")
	if !pattern {
		return []string{uri}, nil
	}
	bucket, err := storage.Open(ctx, dir)
	if err != nil {
		return nil, cli.Usagef("", "--examples: %w", err)
	}
	var out []string
	for o, err := range bucket.List(ctx, before) {
		if err != nil {
			return nil, err
		}
		if ok, _ := path.Match(name, o.Key); ok {
			out = append(out, storage.Join(dir, o.Key))
		}
	}
	return out, nil
}

// openFile opens one object for random access and returns its digest.
func openFile(ctx context.Context, uri string) (storage.Reader, string, error) {
	dir, name := storage.Split(uri)
	bucket, err := storage.Open(ctx, dir)
	if err != nil {
		return nil, "", cli.Usagef("", "--examples: %w", err)
	}
	file, err := bucket.Open(ctx, name)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.New()
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(file, 0, file.Size()), make([]byte, 1<<20)); err != nil {
		return nil, "", errors.Join(err, file.Close())
	}
	return file, hex.EncodeToString(sum.Sum(nil)), nil
}
