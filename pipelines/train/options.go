package train

import (
	"context"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/submit"
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

func (o Options) stageDone(e int, r stages.Report) {
	if o.StageDone != nil {
		o.StageDone(e, r)
	}
}

// layout returns the URIs of the run's datasets.
func (o Options) layout() run.Layout { return run.Layout{Root: o.Root} }
