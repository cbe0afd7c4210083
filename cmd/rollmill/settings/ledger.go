package settings

import (
	"context"
	"iter"
	"path/filepath"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

// LedgerLocation is the text on the pages of submit and job.
const LedgerLocation = `The ledger is in the folder of the run. Rollout gives the run a random id
(<root>/.rollmill/run.json), and every dataset of the run holds it. The id
identifies the ledger, in any working directory and for a copy of the dataset.
The ledger is at --ledger if that is given; else in the folder above the input
that holds the id; else in the root that the dataset records, or in --root, if
it holds the id. Otherwise the command ends with exit code 4 and asks for
--ledger. It does the same when two places hold the id, since one of them is a
copy. Data without a run id (made by other programs) has its ledger at --root;
default: the folder that holds the input, or the one above epoch-<e>.`

// FindLedger returns the URI of the ledger of a dataset: named if it is given,
// else the place that holds the run's id, with root as a hint. A dataset without
// a run id has its ledger at otherwise.
func FindLedger(ctx context.Context, named, root, in string, r manifest.Run, otherwise string) (string, error) {
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
	return runroot.Find(ctx, in, r, hints...)
}

// OpenLedger opens a ledger and sets it in o. It refuses a store in which two processes could
// start the same submission, or one could overwrite what another has recorded.
func OpenLedger(ctx context.Context, uri string, o *submit.Options) error {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return cli.Usagef("", "--ledger: %w", err)
	}
	o.Ledger, o.Keys, o.LedgerURI = b, Names(b), reachable(b)
	if o.DryRun {
		return nil
	}
	exclusive, err := b.Exclusive(ctx)
	if err == nil && !exclusive {
		err = cli.Usagef("set --ledger to a folder on a disk or in another store; `rollmill check --store URI` tests "+
			"whether a store is suitable",
			"--ledger %q: the store ignores the condition to create an object only if it does not exist, so a batch could "+
				"be trained twice", b.URI())
	}
	if err != nil {
		return err
	}
	return b.Replaces(ctx)
}

// Names returns a function that lists a bucket's keys.
func Names(b *storage.Bucket) submit.Keys {
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

// reachable returns a bucket's URI in a form that is valid in any working directory.
func reachable(b *storage.Bucket) string {
	if dir, ok := b.Local(); ok {
		if path, err := filepath.Abs(dir); err == nil {
			return path
		}
	}
	return storage.Redact(b.URI())
}
