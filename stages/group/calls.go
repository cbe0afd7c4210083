package group

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// checkCalls refuses imported rows that are calls of attempts, each with the whole
// history: they would be compared as attempts. Rows are read to name them, or if the
// import did not count them; then every shard looks at all of them.
func (in *input) checkCalls(ctx context.Context, o *Options) error {
	accepted, err := validate.Accept(o.Accept)
	if err != nil {
		return err
	}
	counted, known := in.base.Facts[formats.FactPrefixRows]
	if in.base.Stage != "import" || accepted["prefix_rows"] || known && counted == 0 {
		return nil
	}
	checks := validate.In(validate.Import)
	for i := range checks {
		if checks[i].Name == "prefix_rows" {
			checks = checks[i : i+1]
			break
		}
	}
	doctor, at := validate.NewDoctor(checks), int64(0)
	for t, err := range dataset.Each[formats.Trajectory](ctx, in.base, "", in.base.All()) {
		if err != nil {
			return err
		}
		r := validate.WideRow(at, t)
		doctor.Row(&r)
		at++
	}
	for _, f := range doctor.Found(in.base.URI()) {
		return fault.Invalid(in.base.URI(), checks[0].Hint+"; --accept-finding prefix_rows groups them all the same", nil,
			"%d of %d %s (prefix_rows); the first: %s", f.Count, f.Of, f.What, f.First[0])
	}
	return nil
}
