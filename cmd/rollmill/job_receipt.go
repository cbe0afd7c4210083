package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

// adopt reads the receipt in b and takes the backend and its target from it, except
// where flags give them. So a user who can read the receipt can query the job
// from any folder. It returns the receipt, or nil when there is none.
func (c *jobSettings) adopt(ctx context.Context, s *cli.Session, b *storage.Bucket) (*receipts.Receipt, error) {
	r, err := submit.ReadReceipt(ctx, b)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // reported by the caller that needs it
	}
	if err != nil || r.Target == nil {
		return r, err
	}
	if !s.Given("backend") {
		c.Backend.Name = r.Target.Backend
	}
	if c.Backend.Name != r.Target.Backend {
		return r, nil
	}
	_, settings, err := c.Backend.Get()
	if err == nil {
		plugin.Adopt(settings, s.Given, r.Target.Address, r.Target.Model)
	}
	return r, err
}
