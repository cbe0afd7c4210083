package main

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/conformance"
)

var storageCommand = cli.Command{
	Name:    "storage",
	Heading: commandsHeading,
	Usage:   "test whether a bucket or a folder can hold datasets",
	About:   `Datasets and ledgers are stored in a folder or in a bucket of an object store.`,
	Parts:   []cli.Command{storageCheckCommand},
}

var storageCheckCommand = cli.Command{
	Name:  "storage check",
	Usage: "run the conformance suite on a bucket or a folder",
	Args:  "URI",
	About: `Tests what datasets and ledgers rely on: atomic writes, creation of an object by
exactly one of many writers, replacement only of what was read, ordered listings,
ranges, unusual names, large objects. It writes about three thousand small objects
and 200 MB in a new folder under URI, removes the folder, and exits with code 1 if
a case fails.

The parameters after the question mark and the environment variables are those of
each store's own tools; credentials come only from the environment.

  rollmill storage check runs
  rollmill storage check 's3://bucket/prefix?region=eu-central-1'
  rollmill storage check 's3://bucket?endpoint=http://127.0.0.1:9000&use_path_style=true'
  rollmill storage check gs://bucket/prefix
  rollmill storage check 'azblob://container?storage_account=account'`,
	ArgSettings: []string{"uri"},
	Scans:       true,
	Body:        cli.With(func() *storageSettings { return &storageSettings{} }, runStorageCheck),
}

type storageSettings struct{ URI string }

func (c *storageSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.String(&c.URI, "uri", "test the bucket or the folder at this `URI`")
}

func runStorageCheck(ctx context.Context, s *cli.Session, c *storageSettings) error {
	if c.URI == "" {
		return cli.Usagef("run `rollmill storage check URI`", "storage check takes one URI")
	}
	uri := c.URI
	root, err := storage.Open(ctx, uri)
	if err != nil {
		return cli.Usagef("", "%w", err)
	}
	place := storage.Join(uri, "rollmill-check-"+uuid.NewString()[:8])
	exclusive, err := exclusiveAt(ctx, place)
	if err != nil {
		return err
	}
	failed := 0
	var results []conformance.Result
	err = conformance.Run(ctx, func(folder string) (*storage.Bucket, error) { return storage.Open(ctx, storage.Join(place, folder)) },
		func(r conformance.Result) {
			results = append(results, r)
			printCase(s, r)
			if !r.Pass {
				failed++
			}
		})
	if err != nil {
		return err
	}
	result := map[string]any{"uri": root.URI(), "exclusive_create": exclusive, "cases": results, "failed": failed}
	if err := s.Result(root.URI(), result); err != nil || failed == 0 {
		return err
	}
	return stages.Errorf(stages.KindFailed, "the failures are listed above; a ledger needs all cases; without \"one winner\" and those that swap, new datasets can be written, but none "+
		"replaced, compacted or pruned",
		"storage %q: %d of %d cases failed", root.URI(), failed, len(results))
}

// exclusiveAt reports whether the store at place creates objects exclusively, and
// removes its test objects.
func exclusiveAt(ctx context.Context, place string) (bool, error) {
	b, err := storage.Open(ctx, place)
	if err != nil {
		return false, err
	}
	yes, err := b.Exclusive(ctx)
	if err != nil {
		return false, err
	}
	for o, err := range b.List(ctx, "") {
		if err != nil {
			return false, err
		}
		if err := b.Delete(ctx, o.Key); err != nil {
			return false, err
		}
	}
	return yes, nil
}

func printCase(s *cli.Session, r conformance.Result) {
	if r.Pass {
		s.Say("pass    %-24s %5.2f s", r.Case, r.Took.Seconds())
		return
	}
	s.Say("fail    %-24s %s", r.Case, strings.Join(r.Problems, "; "))
}
