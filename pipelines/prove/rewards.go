package prove

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage"
)

// rewards sets the options that decide the rows of scores.
func rewards(o *score.Options, d *dataset.Dataset, programs bool) error {
	if err := restore(o, d.Params); err != nil {
		return err
	}
	var given struct {
		Reward, Only []string
		Seed         int64
	}
	if err := filled(d.Params, &given); err != nil {
		return err
	}
	o.Only, o.Seed = given.Only, given.Seed
	if err := o.Rewards.Parse(given.Reward); err != nil {
		return err
	}
	for i := range o.Rewards {
		r := &o.Rewards[i]
		if r.Kind == "echo" { // its file is beside the receipt, wherever that is now
			of, _, first := strings.Cut(strings.TrimPrefix(r.Arguments, "of="), ",file=")
			if !first {
				_, of, _ = strings.Cut(r.Arguments, ",of=")
			}
			r.Arguments = ",file=" + storage.Join(run.ReceiptOf(d.URI()), backends.EchoFile)
			if of != "" {
				r.Arguments = "of=" + of + r.Arguments
			}
		}
		kind, err := o.Registry.Find(r.Kind)
		if err != nil {
			return err
		}
		reward, err := kind.Make(r.Arguments, score.Setup{Name: r.Name, Partial: true, Open: o.Open, Log: o.Logger()})
		if err != nil {
			return fmt.Errorf("reward %q: %w", r.Name, err)
		}
		err = allowed(r, reward, programs)
		if err := errors.Join(err, reward.Close()); err != nil {
			return err
		}
	}
	for name := range d.Files {
		if _, err := os.Stat(name); err == nil {
			o.DependsOn = append(o.DependsOn, name)
		}
	}
	return nil
}

// allowed refuses what would reach out of this process: a manifest may be anyone's.
func allowed(r *score.Spec, reward score.Reward, programs bool) error {
	switch d := reward.Describe(); {
	case d.Immediate || d.Local || d.Words != nil && programs:
		return nil
	case d.Words != nil:
		return fmt.Errorf("reward %q runs the program %q, which --programs allows", r.Name, d.Words)
	}
	return fmt.Errorf("reward %q of kind %s asks a model or a service", r.Name, r.Kind)
}
