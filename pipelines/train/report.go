package train

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/stages"
)

// Report is the result of a run.
type Report struct {
	Root   string           `json:"root"`
	Epochs []Epoch          `json:"epochs"`
	Policy *receipts.Policy `json:"policy,omitempty"` // after the last epoch
}

// Epoch holds the reports of one epoch's stages. The last epoch may have only a validation.
type Epoch struct {
	Epoch      int                      `json:"epoch"`
	Stages     map[string]stages.Report `json:"stages"`
	Validation map[string]stages.Report `json:"validation,omitempty"`
	Receipt    *receipts.Receipt        `json:"receipt,omitempty"`
}

// sumUp writes the report's files after an epoch, and returns the epochs that
// need not be read again.
func (o Options) sumUp(ctx context.Context, e int, known []history.Epoch) ([]history.Epoch, error) {
	r, err := report.Make(ctx, report.Options{Root: o.Root, Known: known})
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	at, found := slices.BinarySearchFunc(r.Epochs, e,
		func(x history.Epoch, e int) int { return cmp.Compare(x.Epoch, e) })
	if !found {
		return r.Epochs[:at], nil
	}
	if o.EpochDone != nil {
		o.EpochDone(r.Epochs[at])
	}
	return r.Epochs[:at+1], nil
}
