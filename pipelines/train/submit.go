package train

import (
	"context"
	"fmt"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

func (o Options) submit(ctx context.Context, e int, curated string, before *receipts.Receipt,
	done map[string]stages.Report) (*receipts.Receipt, error) {
	s, err := o.submitTo(ctx, o.layout().Stage(e, "submit"))
	if err != nil {
		return nil, err
	}
	if err := o.findLedger(ctx, curated, &s); err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	s.Env, s.In.URI, s.Epoch, s.Wait, s.Policy = o.env(e, false), curated, e, true, before.Policy
	result, err := submit.Run(ctx, s)
	if err != nil {
		return result.Receipt, fmt.Errorf("submit: %w", err)
	}
	if r := result.Receipt; r.State == receipts.JobCompleted && r.Policy == nil && before.Policy != nil {
		if result.Receipt, err = s.PolicyNow(ctx, *r, *before.Policy); err != nil {
			return r, fmt.Errorf("submit: %w", err)
		}
	}
	done["submit"] = result.Report
	o.stageDone(e, result.Report)
	if o.Submit.Echo && result.Receipt.State == receipts.JobCompleted {
		report, err := o.Echo(ctx, s.Env, s.In, result.Receipt, o.layout().Stage(e, "submit"))
		if err != nil {
			return result.Receipt, fmt.Errorf("echo: %w", err)
		}
		o.stageDone(e, report)
	}
	return result.Receipt, nil
}

// ownRoot returns an error, before any model call, if the root is a copy of another run's root.
func (o Options) ownRoot(ctx context.Context) error {
	run, err := runroot.Open(ctx, o.Root)
	if err != nil || o.FindLedger == nil {
		return err
	}
	s := o.Submit
	return o.FindLedger(ctx, o.layout().Policy(), run, &s)
}

func (o Options) findLedger(ctx context.Context, curated string, s *submit.Options) error {
	if o.FindLedger == nil {
		return nil
	}
	d, err := dataset.Open(ctx, curated, dataset.OpenOptions{AcceptGates: s.In.AcceptGates})
	if err != nil {
		return fmt.Errorf("opening the curated dataset: %w", err)
	}
	return o.FindLedger(ctx, curated, dataset.RunOf(d), s)
}

// submitTo returns the options of submit with the URI of the receipt.
func (o Options) submitTo(ctx context.Context, out string) (submit.Options, error) {
	s := o.Submit
	bucket, err := storage.Open(ctx, out)
	if err != nil {
		return s, err
	}
	s.Env, s.Out, s.Receipt = o.Env, out, bucket
	if at := s.Trainer.Describe().At; at != nil {
		s.Trainer = at(backends.Place{URI: storage.Redact(out), Read: bucket.Read,
			Begin: func(ctx context.Context) (backends.Draft, error) { return bucket.Draft(ctx) }})
	}
	return s, nil
}
