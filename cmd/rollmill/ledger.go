package main

import (
	"context"
	"iter"
	"path/filepath"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

// whereLedgersAre is what submit's and job's pages say.
const whereLedgersAre = `The ledger lies in the folder of the run. Rollout gives the run a random id
(<root>/.rollmill/run.json), every dataset of the run holds it, and the ledger
is found by it, wherever the command runs and wherever a copy of the dataset
lies: --ledger if it is given; else the folder above the input that holds the
id; else the root that the dataset records, or the one of --root, if it holds
the id; else the command ends with exit code 4 and asks for --ledger. It asks
for it too when two places hold the id, since one of them is a copy. Data
without a run's id (made by other programs) has its ledger at --root; default:
the folder that holds the input, or the one above epoch-<e>.`

// findLedger is where the submissions of a dataset are recorded: named, or found
// by the run's id, with root as a hint; otherwise is for one that has no run's
// id.
func findLedger(ctx context.Context, named, root, in string, r dataset.Run, otherwise string) (string, error) {
	switch {
	case named != "":
		return named, nil
	case r.ID == "":
		return otherwise, nil
	}
	var told []string
	if root != "" {
		told = []string{root}
	}
	return dataset.FindRun(ctx, in, r, told...)
}

// openLedger opens a ledger for submissions.
func openLedger(ctx context.Context, uri string, o *submit.Options) error {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return usage("", "--ledger: %w", err)
	}
	o.Ledger, o.Keys, o.LedgerURI = b, names(b), reachable(b)
	return keepsLedgers(ctx, b, o.DryRun)
}

// keepsLedgers refuses a store in which two processes could both begin the
// same submission.
func keepsLedgers(ctx context.Context, ledger *storage.Bucket, dryRun bool) error {
	if dryRun {
		return nil
	}
	exclusive, err := ledger.Exclusive(ctx)
	if err != nil {
		return err
	}
	if !exclusive {
		return usage("name a folder of a disk or of another store by --ledger; `rollmill storage check` tells which will do",
			"--ledger %q: the store replaces an object that it was asked to create only if it is not there, so a batch could be trained twice", ledger.URI())
	}
	return nil
}

// names lists a bucket's keys.
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

// reachable is a bucket's URI as it is understood in any folder.
func reachable(b *storage.Bucket) string {
	if dir, ok := b.Local(); ok {
		if path, err := filepath.Abs(dir); err == nil {
			return path
		}
	}
	return storage.Redact(b.URI())
}

// findLedger finds the ledger of a job: --ledger, else what the receipt says,
// else as submit finds it. in is the receipt's place, or "".
func (c *jobSettings) findLedger(ctx context.Context, in string, r *formats.Receipt) (*storage.Bucket, error) {
	uri, err := c.ledgerURI(ctx, in, r)
	if err != nil {
		return nil, err
	}
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, usage("", "--ledger: %w", err)
	}
	return b, nil
}

func (c *jobSettings) ledgerURI(ctx context.Context, in string, r *formats.Receipt) (string, error) {
	switch {
	case c.Ledger != "":
		return c.Ledger, nil
	case r != nil && r.Ledger != "" && dataset.Follows(in, r.Ledger):
		if held, err := holds(ctx, r.Ledger, r.Key); err != nil || held || r.RunID == "" {
			return r.Ledger, err
		}
	case r != nil && r.Ledger != "" && r.RunID == "":
		return "", formats.Invalid(storage.Redact(in), "name it with --ledger URI", nil, "the receipt's ledger, %q, is in another store and is not followed", r.Ledger)
	}
	if r != nil && r.RunID != "" {
		return findLedger(ctx, c.Ledger, c.Place.Root, in, dataset.Run{ID: r.RunID, Root: r.Ledger}, "")
	}
	if in != "" && r == nil { // a dataset, of which list is asked
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

// holds reports whether a ledger knows a submission.
func holds(ctx context.Context, ledger, key string) (bool, error) {
	b, err := storage.Open(ctx, ledger)
	if err != nil {
		return false, usage("", "--ledger: %w", err)
	}
	return submit.Holds(ctx, b, key)
}
