package main

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/promises"
)

var storageCommand = command{
	name:    "storage",
	heading: aroundIt,
	usage:   "check what a bucket or a folder can do: storage check URI",
	words:   "check URI",
	about: `Holds the place against everything that datasets and ledgers rely on: whole
writes, creation of what is not there yet by exactly one of many, listings in
order, ranges, odd names, big objects. It writes about three thousand small
objects and 50 MB under URI, in a folder with a name of its own that it removes
again, and ends with code 1 when a promise is not kept.

The parameters behind the question mark and the environment variables are those
of each store's own tools; credentials come from the environment only.

  rollmill storage check runs
  rollmill storage check 's3://bucket/prefix?region=eu-central-1'
  rollmill storage check 's3://bucket?endpoint=http://127.0.0.1:9000&use_path_style=true'
  rollmill storage check gs://bucket/prefix
  rollmill storage check 'azblob://container?storage_account=account'`,
	flags: func() []cli.Flag { return nil },
	run:   runStorage,
}

func runStorage(ctx context.Context, s *session) error {
	words := slices.Clone(s.words)
	verb := slices.Index(words, "check")
	if verb >= 0 {
		words = slices.Delete(words, verb, verb+1)
	}
	if verb < 0 || len(words) != 1 {
		return usage("say `rollmill storage check URI`", "storage: got %q", strings.Join(s.words, " "))
	}
	root, err := storage.Open(ctx, words[0])
	if err != nil {
		return usage("", "%w", err)
	}
	place := storage.Join(words[0], "rollmill-check-"+uuid.NewString()[:8])
	exclusive, err := exclusiveAt(ctx, place)
	if err != nil {
		return err
	}
	broken := 0
	var results []promises.Result
	err = promises.Check(ctx, func(folder string) (*storage.Bucket, error) { return storage.Open(ctx, storage.Join(place, folder)) },
		func(r promises.Result) {
			results = append(results, r)
			tellPromise(s, r)
			if !r.Kept {
				broken++
			}
		})
	if err != nil {
		return err
	}
	result := map[string]any{"uri": root.URI(), "exclusive_create": exclusive, "promises": results, "broken": broken}
	if err := s.result(root.URI(), result); err != nil || broken == 0 {
		return err
	}
	return stages.Errorf(stages.KindFailed, "the lines above tell what differs; a dataset needs all but \"one winner\", a ledger needs that one too",
		"storage %q: %d of %d promises are not kept", root.URI(), broken, len(results))
}

// exclusiveAt asks whether the place creates exclusively, and removes what it
// asked by.
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

func tellPromise(s *session, r promises.Result) {
	if r.Kept {
		s.say("kept    %-24s %5.2f s", r.Promise, r.Took.Seconds())
		return
	}
	s.say("broken  %-24s %s", r.Promise, strings.Join(r.Problems, "; "))
}
