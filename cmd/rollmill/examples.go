package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/storage"
)

// exampleFlags say which task file to read, and how.
func exampleFlags() []cli.Flag {
	return inCategory(aboutInput,
		&cli.StringFlag{Name: "examples", Usage: "read the examples from the task file at this `URI`: JSON, JSON lines, CSV or Parquet"},
		&cli.StringFlag{Name: "examples-format", Usage: "`FORMAT` of the task file; default: by its extension"},
		&cli.StringFlag{Name: "id-key", Value: "id", Usage: "`COLUMN` of the id"},
		&cli.StringFlag{Name: "question-key", Value: "question", Usage: "`COLUMN` of the question"},
		&cli.StringFlag{Name: "answer-key", Value: "answer", Usage: "`COLUMN` of the reference answer"},
		&cli.StringFlag{Name: "generated-answer-key", Value: "generated_answer", Usage: "`COLUMN` of an answer made elsewhere"},
		&cli.BoolFlag{Name: "unstructured", Usage: "the question is the whole row, as JSON"},
		&cli.BoolFlag{Name: "require-question", Usage: "drop rows without a question, and refuse a file without that column"},
		&cli.StringSliceFlag{Name: "allow", Usage: "keep only rows that match this `COLUMN=PATTERN`"},
		&cli.StringSliceFlag{Name: "deny", Usage: "drop rows that match this `COLUMN=PATTERN`"},
	)
}

// readExamples reads the task file, telling what it did not keep. The set is
// there as long as the command runs.
func readExamples(ctx context.Context, s *session, c *cli.Context) (*examples.Set, dataset.Ref, error) {
	ref := dataset.Ref{Role: "examples", URI: storage.Redact(c.String("examples"))}
	o := examples.Options{
		Format: c.String("examples-format"), Names: fieldNames(c),
		Unstructured: c.Bool("unstructured"), RequireQuestion: c.Bool("require-question"),
	}
	var err error
	if o.Allow, err = patterns(c, "allow"); err != nil {
		return nil, ref, err
	}
	if o.Deny, err = patterns(c, "deny"); err != nil {
		return nil, ref, err
	}
	uri := c.String("examples")
	if uri == "" {
		return nil, ref, usage("name the task file with --examples", "no examples")
	}
	file, size, digest, err := openFile(ctx, uri)
	if errors.Is(err, storage.ErrNotExist) {
		return nil, ref, formats.Invalid(ref.URI, "check --examples; a path is relative to where rollmill is run", storage.ErrNotExist, "no task file")
	}
	if err != nil {
		return nil, ref, err
	}
	defer file.Close() // it was only read
	ref.Digest = digest
	set, report, err := examples.Read(ref.URI, file, size, o)
	if err == nil {
		s.opened = append(s.opened, set)
	}
	for _, w := range report.Warnings {
		s.logger().Warn(w, "examples", ref.URI)
	}
	for reason, n := range report.Counts {
		s.logger().Warn("examples not kept", "examples", ref.URI, "reason", reason, "rows", n)
	}
	return set, ref, err
}

// openFile opens one object for random access, with its size and digest.
func openFile(ctx context.Context, uri string) (storage.Reader, int64, string, error) {
	dir, name := storage.Split(uri)
	bucket, err := storage.Open(ctx, dir)
	if err != nil {
		return nil, 0, "", usage("", "--examples: %w", err)
	}
	file, err := bucket.Open(ctx, name)
	if err != nil {
		return nil, 0, "", err
	}
	sum := sha256.New()
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(file, 0, file.Size()), make([]byte, 1<<20)); err != nil {
		return nil, 0, "", errors.Join(err, file.Close())
	}
	return file, file.Size(), hex.EncodeToString(sum.Sum(nil)), nil
}
