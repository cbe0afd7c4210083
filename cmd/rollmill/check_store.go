package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/conformance"
	"github.com/rollmill/rollmill/storage/fault"
)

// swaps lists the cases that new datasets do without.
var swaps = []string{"one winner", "swapping", "one swap", "content returns", "big races"}

// checkStore runs the conformance suite in a new folder under uri, and removes the folder.
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
	if err := folder.Create(ctx, "first", []byte("rollmill check\n")); err != nil { // and so would every case
		return errors.Join(err, conformance.Remove(ctx, folder))
	}
	exclusive, err := folder.Exclusive(ctx)
	if err != nil {
		return err
	}
	if err := conformance.Remove(ctx, folder); err != nil {
		return err
	}
	failed, writes := 0, true
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
			s.Say("fail    %-24s %s", r.Case, strings.Join(r.Problems[:min(3, len(r.Problems))], "; "))
			writes = writes && slices.Contains(swaps, r.Case)
		})
	if err != nil {
		return err
	}
	result := map[string]any{"uri": root.URI(), "exclusive_create": exclusive, "cases": results, "failed": failed}
	if err := s.Result(root.URI(), result); err != nil || failed == 0 {
		return err
	}
	hint := "the failures are listed above; a ledger needs all cases"
	if writes {
		hint += "; new datasets can be written, but none replaced, compacted or pruned"
	}
	return fault.Errorf(fault.Failed, hint, "storage %q: %d of %d cases failed", root.URI(), failed, len(results))
}
