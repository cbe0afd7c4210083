package main

import (
	"context"
	"iter"
	"path/filepath"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

// ledgerLocation is the text on the pages of submit and job.
const ledgerLocation = `The ledger is in the folder of the run. Rollout gives the run a random id
(<root>/.rollmill/run.json), and every dataset of the run holds it. The id
identifies the ledger, in any working directory and for a copy of the dataset.
The ledger is at --ledger if that is given; else in the folder above the input
that holds the id; else in the root that the dataset records, or in --root, if
it holds the id. Otherwise the command ends with exit code 4 and asks for
--ledger. It does the same when two places hold the id, since one of them is a
copy. Data without a run id (made by other programs) has its ledger at --root;
default: the folder that holds the input, or the one above epoch-<e>.`

// findLedger returns the URI of the ledger of a dataset: named if it is given,
// else the place that holds the run's id, with root as a hint. A dataset without
// a run id has its ledger at otherwise.
func findLedger(ctx context.Context, named, root, in string, r dataset.Run, otherwise string) (string, error) {
	switch {
	case named != "":
		return named, nil
	case r.ID == "":
		return otherwise, nil
	}
	var hints []string
	if root != "" {
		hints = []string{root}
	}
	return dataset.FindRun(ctx, in, r, hints...)
}

// openLedger opens a ledger and sets it in o.
func openLedger(ctx context.Context, uri string, o *submit.Options) error {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return cli.Usagef("", "--ledger: %w", err)
	}
	o.Ledger, o.Keys, o.LedgerURI = b, names(b), reachable(b)
	return checkExclusive(ctx, b, o.DryRun)
}

// checkExclusive refuses a store in which two processes could start the same
// submission, or one could overwrite what another has recorded.
func checkExclusive(ctx context.Context, ledger *storage.Bucket, dryRun bool) error {
	if dryRun {
		return nil
	}
	exclusive, err := ledger.Exclusive(ctx)
	if err != nil {
		return err
	}
	if !exclusive {
		return cli.Usagef("set --ledger to a folder on a disk or in another store; `rollmill check --store URI` tests "+
			"whether a store is suitable",
			"--ledger %q: the store ignores the condition to create an object only if it does not exist, so a batch could "+
				"be trained twice", ledger.URI())
	}
	return ledger.Replaces(ctx)
}

// names returns a function that lists a bucket's keys.
func names(b *storage.Bucket) submit.Keys {
	return func(ctx context.Context, prefix string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for o, err := range b.List(ctx, prefix) {
				if !yield(o.Key, err) {
					return
				}
			}
		}
	}
}

// reachable returns a bucket's URI in a form that is valid in any working
// directory.
func reachable(b *storage.Bucket) string {
	if dir, ok := b.Local(); ok {
		if path, err := filepath.Abs(dir); err == nil {
			return path
		}
	}
	return storage.Redact(b.URI())
}

// findLedger opens the ledger of a job: --ledger, else the one in the receipt,
// else the one that submit would find. in is the receipt's URI, or "".
func (c *jobSettings) findLedger(ctx context.Context, in string, r *formats.Receipt) (*storage.Bucket, error) {
	uri, err := c.ledgerURI(ctx, in, r)
	if err != nil {
		return nil, err
	}
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, cli.Usagef("", "--ledger: %w", err)
	}
	return b, nil
}

func (c *jobSettings) ledgerURI(ctx context.Context, in string, r *formats.Receipt) (string, error) {
	switch {
	case c.Ledger != "":
		return c.Ledger, nil
	case r != nil && r.Ledger != "" && dataset.Follows(in, r.Ledger):
		b, err := storage.Open(ctx, r.Ledger)
		if err != nil {
			return "", cli.Usagef("", "--ledger: %w", err)
		}
		if held, err := submit.Holds(ctx, b, r.Key); err != nil || held || r.RunID == "" {
			return r.Ledger, err
		}
	case r != nil && r.Ledger != "" && r.RunID == "":
		return "", formats.Invalid(storage.Redact(in), "name it with --ledger URI", nil,
			"the receipt's ledger, %q, is in another store and is not used", r.Ledger)
	}
	if r != nil && r.RunID != "" {
		return findLedger(ctx, c.Ledger, c.Place.Root, in, dataset.Run{ID: r.RunID, Root: r.Ledger}, "")
	}
	if in != "" && r == nil { // in is a dataset, for job list
		d, err := dataset.Open(ctx, in, dataset.OpenOptions{})
		if err == nil && d.Run.ID != "" {
			return findLedger(ctx, c.Ledger, c.Place.Root, in, d.Run, c.Place.Root)
		}
	}
	_, root := c.Place.both()
	if in != "" && c.Place.Root == "" {
		root = dataset.RootOf(in)
	}
	return root, nil
}
