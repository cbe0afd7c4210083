package main

import (
	"context"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// findLedger opens the ledger of a job: --ledger, else the one in the receipt,
// else the one that submit would find. in is the receipt's URI, or "".
func (c *jobSettings) findLedger(ctx context.Context, in string, r *receipts.Receipt) (*storage.Bucket, error) {
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

func (c *jobSettings) ledgerURI(ctx context.Context, in string, r *receipts.Receipt) (string, error) {
	switch {
	case c.Ledger != "":
		return c.Ledger, nil
	case r != nil && r.Ledger != "" && runroot.Follows(in, r.Ledger):
		b, err := storage.Open(ctx, r.Ledger)
		if err != nil {
			return "", cli.Usagef("", "--ledger: %w", err)
		}
		if held, err := submit.Holds(ctx, b, r.Key); err != nil || held || r.RunID == "" {
			return r.Ledger, err
		}
	case r != nil && r.Ledger != "" && r.RunID == "":
		return "", fault.Invalid(storage.Redact(in), "name it with --ledger URI", nil,
			"the receipt's ledger, %q, is in another store and is not used", r.Ledger)
	}
	if r != nil && r.RunID != "" {
		return settings.FindLedger(ctx, c.Ledger, c.Place.Root, in, manifest.Run{ID: r.RunID, Root: r.Ledger}, "")
	}
	if in != "" && r == nil { // in is a dataset, for job list
		d, err := dataset.Open(ctx, in, dataset.OpenOptions{})
		if err == nil && d.Run.ID != "" {
			return settings.FindLedger(ctx, c.Ledger, c.Place.Root, in, d.Run, c.Place.Root)
		}
	}
	_, root := c.Place.Both()
	if in != "" && c.Place.Root == "" {
		root = runroot.Of(in)
	}
	return root, nil
}
