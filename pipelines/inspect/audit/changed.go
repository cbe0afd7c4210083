package audit

import (
	"context"
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// changed reports inputs of a dataset that are missing or have another identity,
// and a changed base. It reads the whole base, unless the base is audited anyway.
// An input that was pruned is no fault.
func (a *auditor) changed(ctx context.Context, d *dataset.Dataset) error {
	for _, ref := range d.Inputs {
		if ref.Identity == "" { // a file
			continue
		}
		in, err := d.OpenRef(ctx, ref)
		if p := manifest.PrunedIn(err); p != nil && p.Was(ref) {
			continue
		}
		if err == nil && d.Base != nil && in.Is(d.Base) {
			err = a.base(ctx, d, in)
		}
		if errors.Is(err, fault.ErrInvalid) {
			a.find(checkChanged, validate.Finding{URI: d.URI(), What: err.Error()})
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) base(ctx context.Context, d, base *dataset.Dataset) error {
	if d.Kind != schema.KindTrajectories && d.Rows != base.Rows {
		return fault.Invalid(d.URI(), "", nil, "it has %d rows, its base %q has %d", d.Rows, base.URI(), base.Rows)
	}
	if slices.ContainsFunc(a.found.Datasets, func(o *dataset.Dataset) bool { return o.Is(d.Base) }) {
		return nil
	}
	err, known := a.sound[d.Base.Digest]
	if !known {
		err = dataset.Verify(ctx, base)
		a.sound[d.Base.Digest] = err
	}
	if err != nil {
		return fault.Invalid(d.URI(), "", err, "its base is damaged")
	}
	return nil
}

// unnamed reports parts that a killed writer left, that a writer is writing, or
// that a compaction replaced.
func (a *auditor) unnamed(ctx context.Context, d *dataset.Dataset) error {
	parts, err := d.Unnamed(ctx)
	if err != nil || len(parts) == 0 {
		return err
	}
	a.findIn(d, checkUnnamed,
		[]validate.Finding{{What: "parts that the manifest does not name, such as " + parts[0], Count: int64(len(parts))}})
	return nil
}
