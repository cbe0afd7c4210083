// Package train runs whole epochs in one process: rollout, score, group, curate and submit, with
// validations on held-out examples. It calls the same stage functions as the five subcommands,
// on datasets with the same names, so Make can finish a run that train started, and the reverse.
//
//	<root>/policy                            the receipt before the first epoch
//	<root>/epoch-<e>/validation/{rollout,score}
//	<root>/epoch-<e>/{rollout,score,group,curate,submit}
//	<root>/epoch-<e>/extended/{rollout,score,group,curate}   a refill (Refill); the next is in extended/extended
//
// It has no state of its own: after it is killed and run again, it skips the
// datasets that are up to date and continues with the first that is not. Decisions
// about rows belong in a stage, not here.
package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Run trains the epochs in order. An empty curated dataset is not an error. A
// failed job ends the run.
func Run(ctx context.Context, o Options) (Report, error) {
	report := Report{Root: storage.Redact(o.Root)}
	if err := o.Validate(); err != nil {
		return report, err
	}
	if err := o.ownRoot(ctx); err != nil {
		return report, fmt.Errorf("train: %w", err)
	}
	receipt, err := o.prepare(ctx)
	if err != nil {
		return report, fmt.Errorf("train: prepare: %w", err)
	}
	var known []history.Epoch
	for e := range o.Epochs + 1 {
		epoch := Epoch{Epoch: e, Stages: map[string]stages.Report{}}
		last := e == o.Epochs
		if v := o.Validation; v != nil && e%v.Every == 0 {
			epoch.Validation = map[string]stages.Report{}
			err = o.validate(ctx, e, receipt, epoch.Validation)
		}
		if err == nil && !last {
			receipt, err = o.epoch(ctx, e, receipt, epoch.Stages)
			epoch.Receipt = receipt
		}
		if !last || epoch.Validation != nil {
			report.Epochs = append(report.Epochs, epoch)
		}
		if err == nil {
			known, err = o.sumUp(ctx, e, known)
		}
		if err != nil {
			return report, fmt.Errorf("train: epoch %d: %w", e, otherSettings(err))
		}
		report.Policy = receipt.Policy
	}
	return report, nil
}

// otherSettings adds the hint of a run to the error about a dataset that other
// settings made: that of a stage speaks of its flags, which train does not have.
func otherSettings(err error) error {
	old := (*manifest.ExistsError)(nil)
	if !errors.As(err, &old) || old.Late {
		return err
	}
	return fault.Errorf(fault.Usage,
		"a run keeps the settings, programs and examples that it began with: undo the change, or begin another run with "+
			"another --root (root in the config file)", "%w", err)
}

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
