package group

import (
	"context"
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// checkRepeatedIDs refuses a base in which a trajectory occurs twice: each copy would get
// an advantage, and decide those of the others. Only files that another tool wrote
// can have one. Every shard looks at all rows.
func (src *input) checkRepeatedIDs(ctx context.Context, o *Options) error {
	if !src.base.Plain {
		return nil
	}
	seen := spill.NewSet(o.Spill.Dir, min(setMemory, o.Spill.Memory))
	defer seen.Close()
	err := src.eachID(ctx, src.base.All(), func(_ int64, id string) error {
		_, err := seen.Add(xxh3.HashString(id))
		return err
	})
	if err != nil {
		return err
	}
	if twice, err := seen.Twice(); err != nil || !twice {
		return err
	}
	return src.refuseRepeated(ctx, o)
}

// refuseRepeated returns an error about the first row with the trajectory of an
// earlier one; nil if only hashes of 64 bits are equal.
func (src *input) refuseRepeated(ctx context.Context, o *Options) error {
	sorter := spill.New(o.Spill.Dir, o.Spill.Memory)
	defer sorter.Close()
	var key []byte
	if err := src.eachID(ctx, src.base.All(), func(at int64, id string) error {
		sum := xxh3.HashString128(id)
		key = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(key[:0], sum.Hi), sum.Lo)
		key = binary.BigEndian.AppendUint64(key, uint64(at))
		return sorter.Add(key, nil)
	}); err != nil {
		return err
	}
	last, before, first, again := "", int64(-1), int64(-1), int64(-1)
	for r, err := range sorter.Sorted() {
		if err != nil {
			return err
		}
		at := int64(binary.BigEndian.Uint64(r.Key[16:]))
		if before >= 0 && string(r.Key[:16]) == last && (again < 0 || at < again) {
			first, again = before, at
		}
		last, before = string(r.Key[:16]), at
	}
	if again < 0 {
		return nil
	}
	return src.eachID(ctx, dataset.Range{First: again, Rows: 1}, func(_ int64, id string) error {
		file, row := src.base.PlaceOf(first)
		e := fault.Invalid("", "give every attempt an id of its own, or leave the copies out", nil,
			"trajectory %q is in row %d of %q too", id, row, file)
		e.Place, e.Row = src.base.PlaceOf(again)
		return e
	})
}

// eachID calls f with the trajectory of every row of a range.
func (src *input) eachID(ctx context.Context, r dataset.Range, f func(at int64, id string) error) error {
	type id struct {
		TrajectoryID string `parquet:"trajectory_id"`
	}
	at := r.First
	for row, err := range dataset.Each[id](ctx, src.base, "", r) {
		if err == nil {
			err = f(at, row.TrajectoryID)
		}
		if err != nil {
			return err
		}
		at++
	}
	return nil
}

// checkScored refuses trajectories that were never scored: some ended well, and none
// has a reward or a component of one. A dataset that score wrote is always
// accepted, even when it could compute no reward.
func (src *input) checkScored(ctx context.Context) error {
	if src.rows.Kind == schema.KindScores {
		return nil
	}
	type columns struct {
		Status  string                `parquet:"status,dict"`
		Reward  *float64              `parquet:"reward,optional"`
		Rewards []formats.NamedReward `parquet:"rewards,list"`
	}
	wait := int64(0)
	for c, err := range dataset.Each[columns](ctx, src.rows, "", src.rows.All()) {
		if err != nil || c.Reward != nil || len(c.Rewards) > 0 {
			return err
		}
		if c.Status != outcomes.StatusFailed && c.Status != outcomes.StatusSkipped {
			wait++
		}
	}
	if wait == 0 {
		return nil
	}
	return fault.Invalid(src.rows.URI(), "score them first (rollmill score), or group them with --allow-unscored", nil,
		"none of its trajectories was ever scored; %d wait for a reward", wait)
}

// checkCalls refuses imported rows that are calls of attempts, each with the whole
// history: they would be compared as attempts. Rows are read to name them, or if the
// import did not count them; then every shard looks at all of them.
func (src *input) checkCalls(ctx context.Context, o *Options) error {
	accepted, err := validate.Accept(o.Accept)
	if err != nil {
		return err
	}
	counted, known := src.base.Facts[formats.FactPrefixRows]
	if src.base.Stage != "import" || accepted["prefix_rows"] || known && counted == 0 {
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
	for t, err := range dataset.Each[formats.Trajectory](ctx, src.base, "", src.base.All()) {
		if err != nil {
			return err
		}
		r := validate.WideRow(at, t)
		doctor.Row(&r)
		at++
	}
	for _, f := range doctor.Found(src.base.URI()) {
		return fault.Invalid(src.base.URI(), checks[0].Hint+"; --accept-finding prefix_rows groups them all the same", nil,
			"%d of %d %s (prefix_rows); the first: %s", f.Count, f.Of, f.What, f.First[0])
	}
	return nil
}
