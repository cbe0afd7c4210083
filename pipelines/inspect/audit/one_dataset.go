package audit

import (
	"cmp"
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/advantages"
	"github.com/rollmill/rollmill/formats/dataset/workspaces"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// one audits one dataset: its bytes, its inputs, then its rows. In a damaged dataset it also
// checks the rows that can be read, because they can show what happened. A dataset that cannot
// be read is reported even if the check of damage was not selected.
func (a *auditor) one(ctx context.Context, d *dataset.Dataset) error {
	var damage error
	if a.wants(checkDamage) {
		damage = cmp.Or(dataset.Verify(ctx, d), workspaces.Check(ctx, d))
	}
	if damage != nil && !errors.Is(damage, fault.ErrInvalid) {
		return damage
	}
	err := a.look(ctx, d)
	if err != nil && !errors.Is(err, fault.ErrInvalid) {
		return err
	}
	if damage = cmp.Or(damage, err); damage != nil {
		a.damaged[d] = true
		a.find(checkDamage, validate.Finding{URI: d.URI(), What: damage.Error()})
	}
	return nil
}

// look runs the checks of one dataset.
func (a *auditor) look(ctx context.Context, d *dataset.Dataset) error {
	for _, c := range []struct {
		name string
		run  func(context.Context, *dataset.Dataset) error
	}{{checkChanged, a.changed}, {checkUnnamed, a.unnamed}, {checkRepeated, a.repeated}} {
		if !a.wants(c.name) {
			continue
		}
		if err := c.run(ctx, d); err != nil {
			return err
		}
	}
	if err := a.mismatched(ctx, d); err != nil {
		return err
	}
	doctor := validate.NewDoctor(a.checks)
	if err := a.show(ctx, d, doctor); err != nil {
		return err
	}
	a.out.Findings = append(a.out.Findings, doctor.Found(d.URI())...)
	return nil
}

// show passes the statistics of groups, if the dataset has them, to the checks of
// groups, and its rows to the other checks.
func (a *auditor) show(ctx context.Context, d *dataset.Dataset, doctor *validate.Doctor) error {
	var bad error
	see := doctor.Row
	if _, has := d.Tables[schema.TableGroups]; has && doctor.WantsGroups() {
		bad = advantages.EachGroup(ctx, d, doctor.Group)
	} else if d.Kind == schema.KindTrajectories && d.Stage != "rollout" && a.wants(validate.Flat) {
		var batch *advantages.Batch
		batch, bad = advantages.Of(ctx, d)
		see = func(r *validate.Row) {
			var size training.AdvantageSize
			size.Add(r.Trajectory.Advantage, r.Trajectory.Advantages, r.Trajectory.Losses)
			r.Trains = batch.Of(nil, &size)
			doctor.Row(r)
		}
	}
	wanted, payload := doctor.WantsRows()
	if !wanted {
		return bad
	}
	return cmp.Or(bad, rows(ctx, d, payload, see))
}
