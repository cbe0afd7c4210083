// Package train runs whole epochs in one process: rollout, score, group, curate
// and submit, with validations on held-out examples. It calls the same stage
// functions as the five subcommands, on datasets with the same names, so Make can
// finish a run that train started, and the reverse.
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
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Options holds the options of each stage. Run sets the inputs, the outputs, the
// epoch, the policy and the curriculum's previous epoch.
type Options struct {
	stages.Env
	Root   string // URI of the run
	Epochs int

	Rollout rollout.Options
	Score   score.Options
	Group   group.Options
	Curate  curate.Options
	Submit  submit.Options

	Refill       Refill
	PlanPrevious bool // after the first epoch, rollout makes what the curated dataset of the epoch before plans

	// FindLedger sets the ledger of o to that of the dataset at a URI, which belongs
	// to a run. If it is nil, the ledger of Submit is used.
	FindLedger func(ctx context.Context, in string, run manifest.Run, o *submit.Options) error

	// Echo scores a batch by what its trainer gave back, beside the receipt at a URI, if
	// Submit.Echo asks for it.
	Echo func(ctx context.Context, env stages.Env, in stages.Input, receipt *receipts.Receipt,
		at string) (stages.Report, error)

	Validation *Validation // nil for none

	// StageDone and EpochDone report progress; both are optional. They get the
	// report of a stage of an epoch, and the summary of an epoch.
	StageDone func(epoch int, r stages.Report)
	EpochDone func(history.Epoch)
}

// Validation runs held-out examples with the current policy before epoch e if
// Every divides e, and after the last epoch if Every divides Epochs. Its
// trajectories are never grouped or submitted.
type Validation struct {
	Every   int // epochs
	Rollout rollout.Options
	Score   score.Options
}

// Report is the result of a run.
type Report struct {
	Root   string           `json:"root"`
	Epochs []Epoch          `json:"epochs"`
	Policy *receipts.Policy `json:"policy,omitempty"` // after the last epoch
}

// Epoch holds the reports of one epoch's stages. The last epoch may have only a
// validation.
type Epoch struct {
	Epoch      int                      `json:"epoch"`
	Stages     map[string]stages.Report `json:"stages"`
	Validation map[string]stages.Report `json:"validation,omitempty"`
	Receipt    *receipts.Receipt        `json:"receipt,omitempty"`
}

// Validate checks the options before any model call.
func (o Options) Validate() error {
	if err := o.Refill.validate(o.Curate.PlanTable.Drawn()); err != nil {
		return err
	}
	switch {
	case o.Root == "":
		return fault.Errorf(fault.Usage, "", "train: no root")
	case o.Epochs < 1:
		return fault.Errorf(fault.Usage, "", "train: --epochs %d: must be at least 1", o.Epochs)
	case o.Validation != nil && o.Validation.Every < 1:
		return fault.Errorf(fault.Usage, "", "train: --validation-interval %d: must be at least 1", o.Validation.Every)
	case o.Rollout.Generations < 2 && o.Group.Compares():
		return fault.Errorf(fault.Usage, "set rollout.generations: 8 is usual, 2 is the least",
			"train: --generations %d: estimator %q compares the attempts at one example; with one attempt there is nothing "+
				"to compare, and nothing would be trained",
			max(1, o.Rollout.Generations), o.Group.Estimator.Name)
	}
	return nil
}

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

func (o Options) stageDone(e int, r stages.Report) {
	if o.StageDone != nil {
		o.StageDone(e, r)
	}
}

// layout returns the URIs of the run's datasets.
func (o Options) layout() run.Layout { return run.Layout{Root: o.Root} }
