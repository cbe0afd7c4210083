package main

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/conformance"
)

// checkStore runs the conformance suite in a new folder under uri, and removes the
// folder.
func checkStore(ctx context.Context, s *cli.Session, uri string) error {
	root, err := storage.Open(ctx, uri)
	if err != nil {
		return cli.Usagef("", "%w", err)
	}
	place := storage.Join(uri, "rollmill-check-"+uuid.NewString()[:8])
	folder, err := storage.Open(ctx, place)
	if err != nil {
		return err
	}
	exclusive, err := folder.Exclusive(ctx)
	if err != nil {
		return err
	}
	if err := conformance.Remove(ctx, folder); err != nil {
		return err
	}
	failed := 0
	var results []conformance.Result
	err = conformance.Run(ctx, func(folder string) (*storage.Bucket, error) {
		return storage.Open(ctx, storage.Join(place, folder))
	},
		func(r conformance.Result) {
			results = append(results, r)
			if r.Pass {
				s.Say("pass    %-24s %5.2f s", r.Case, r.Took.Seconds())
				return
			}
			failed++
			s.Say("fail    %-24s %s", r.Case, strings.Join(r.Problems, "; "))
		})
	if err != nil {
		return err
	}
	result := map[string]any{"uri": root.URI(), "exclusive_create": exclusive, "cases": results, "failed": failed}
	if err := s.Result(root.URI(), result); err != nil || failed == 0 {
		return err
	}
	return stages.Errorf(stages.KindFailed,
		"the failures are listed above; a ledger needs all cases; without \"one winner\" and those that swap, new datasets "+
			"can be written, but none "+
			"replaced, compacted or pruned",
		"storage %q: %d of %d cases failed", root.URI(), failed, len(results))
}
