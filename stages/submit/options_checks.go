package submit

import (
	"fmt"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

func (o Options) withDefaults() Options {
	if o.PollInterval <= 0 {
		o.PollInterval = 10 * time.Second
	}
	if o.LeaseTTL <= 0 {
		o.LeaseTTL = time.Minute
	}
	return o
}

// Validate checks everything that can be checked before anything is read.
func (o Options) Validate() error {
	usage := func(hint, format string, args ...any) error {
		return fault.Errorf(fault.Usage, hint, format, args...)
	}
	if _, err := o.accepted(); err != nil {
		return err
	}
	var trainer backends.Description
	if o.Trainer != nil {
		trainer = o.Trainer.Describe()
	}
	switch {
	case o.In.URI == "":
		return usage("", "submit: no input")
	case o.Trainer == nil:
		return usage("", "submit: no backend")
	case trainer.Effect == 0:
		return fmt.Errorf("submit: the trainer of backend %s describes nothing", o.Trainer.Target().Backend)
	case o.Receipt == nil && !o.DryRun:
		return usage("", "submit: no place for the receipt")
	case o.Ledger == nil && !o.DryRun:
		return usage("", "submit: no ledger")
	case trainer.Attended && !o.Wait && !o.DryRun:
		return usage("add --wait: the training ends with this command",
			"submit: %s trains only while this command runs", o.Trainer.Target().Backend)
	case o.Resubmit && o.AssumeTrained:
		return usage("--resubmit sends the batch again, --assume-trained never does",
			"submit: --resubmit and --assume-trained exclude each other")
	case o.Rows != nil && !o.DryRun:
		return usage("add --dry-run", "submit: --rows without --dry-run")
	case o.Rows != nil && trainer.WriteRows == nil:
		return usage("its rows are those of the dataset: rollmill show prints them",
			"submit: %s reads the dataset itself, so --rows has nothing to write", o.Trainer.Target().Backend)
	case o.Redact != nil && trainer.ReadsDataset:
		return usage("submit a dataset that was redacted before, or leave out --redact",
			"submit: %s reads the dataset itself, so --redact cannot change what it reads", o.Trainer.Target().Backend)
	case o.Advantages == exporters.OfTrajectory && trainer.ReadsDataset:
		return usage("its rows also have the advantage of the trajectory, which the program may use",
			"submit: %s reads the dataset itself, so --advantages cannot change what it reads", o.Trainer.Target().Backend)
	case o.LeaseTTL < 0 || o.LeaseTTL > 0 && o.LeaseTTL < time.Second || o.LeaseTTL > lease.MaxTTL:
		return usage("", "submit: lease of %s: must be at least 1s and at most %s", o.LeaseTTL, lease.MaxTTL)
	}
	return nil
}
