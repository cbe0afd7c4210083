package shards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// Outcome is what a shard's record contains besides its rows.
type Outcome struct {
	Counts, Drops, Failures map[string]int64
	Facts, Timings          map[string]float64
	State                   json.RawMessage
}

// Result is the outcome of a commit.
type Result struct {
	URI      string
	Identity string
	UpToDate bool
	Rows     int64            // of this shard
	Sealed   *dataset.Dataset // the dataset, when all shards are complete; else nil
	Missing  []int            // shards that are still missing
}

// Commit ends every table, writes the shard's record and, when it is the last
// one, the manifest. If another process wrote this shard's record first, that
// record is kept and our parts are removed. When a gate refuses the sealed
// dataset, the Result is complete and the error is a *manifest.GateError. On an UpToDate
// shard Commit only reads, but evaluates gates that changed again.
func (s *Shard) Commit(ctx context.Context, o Outcome) (Result, error) {
	if s.upToDate {
		return s.result(ctx, true)
	}
	if s.ended {
		return Result{}, fmt.Errorf("commit %q: the shard has ended", s.bucket.URI())
	}
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		if err := s.tables[name].finish(ctx); err != nil {
			return Result{}, err
		}
	}
	data, err := json.MarshalIndent(s.record(o), "", " ")
	if err != nil {
		return Result{}, fmt.Errorf("commit %q: the outcome is not JSON: %w", s.bucket.URI(), err)
	}
	lost, err := s.leave(ctx, append(data, '\n'))
	if err != nil {
		return Result{}, err
	}
	res, err := s.result(ctx, lost)
	if exists := (*manifest.ExistsError)(nil); errors.As(err, &exists) {
		return res, errors.Join(err, s.withdraw(ctx))
	}
	if gate := (*manifest.GateError)(nil); err != nil && !errors.As(err, &gate) {
		return res, err
	}
	// The rows of a run that overwrites may be wanted again until it is sealed.
	if s.build.Base == "" && res.Sealed == nil {
		err = errors.Join(err, s.bucketRemove(ctx, s.build.Journal(s.shard)), s.bucketRemove(ctx, s.build.Beside(s.shard)))
	}
	return res, err
}

// leave writes the shard's record, and reports whether another process's record
// is there instead. Parts that a record or a manifest names are never removed,
// even when the store says that the record exists: the response to our own
// create may have been lost.
func (s *Shard) leave(ctx context.Context, data []byte) (lost bool, err error) {
	now, err := seal.ReadCurrent(ctx, s.bucket)
	if err != nil {
		return false, err
	}
	sealed := now.Manifest != nil && now.Manifest.Identity == s.build.Identity // perhaps in another number of shards
	if !sealed && now.Generation != s.build.Base {
		return false, errors.Join(seal.Late(s.bucket, now, s.build), s.withdraw(ctx))
	}
	s.ended = true // from here on the record may exist, whatever the store says
	if sealed {
		return true, s.removeParts(ctx, now.Manifest.NamedParts())
	}
	err = s.bucket.Create(ctx, s.build.Record(s.shard), data)
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, storage.ErrExist) {
		return false, fmt.Errorf("commit shard %d of %d: %w", s.shard, s.build.Of, err)
	}
	winner, err := seal.ReadRecord(ctx, s.bucket, s.build, s.shard)
	if errors.Is(err, storage.ErrNotExist) { // removed since, by the writer that replaced the manifest
		return true, s.removeParts(ctx, nil)
	}
	if err != nil {
		return false, fmt.Errorf("commit shard %d of %d: %w", s.shard, s.build.Of, err)
	}
	if slices.ContainsFunc(winner.AllParts(), func(p manifest.Part) bool { return s.published(p.Name) }) {
		return false, nil // no other writer can name our parts
	}
	return true, s.removeParts(ctx, winner.AllParts())
}

// published reports whether this shard made a part visible.
func (s *Shard) published(name string) bool {
	for _, t := range s.tables {
		if slices.ContainsFunc(t.parts, func(p manifest.Part) bool { return p.Name == name }) {
			return true
		}
	}
	return false
}

// Overtaken reports whether an error was caused only by another process that
// finished this shard meanwhile and removed its journal. The shard is then
// UpToDate, and what it wrote is removed; Commit returns the dataset that is
// there.
func (s *Shard) Overtaken(ctx context.Context, err error) bool {
	if !errors.Is(err, storage.ErrNotExist) {
		return false
	}
	done, look := s.Finished(ctx)
	return look == nil && done
}

// Finished reports whether another process finished this shard meanwhile. The
// shard is then UpToDate, and what it wrote is removed.
func (s *Shard) Finished(ctx context.Context) (bool, error) {
	now, err := seal.ReadCurrent(ctx, s.bucket)
	if err == nil && (now.Manifest == nil || now.Manifest.Identity != s.build.Identity) { // not the whole dataset; the record?
		if _, err = s.bucket.Stat(ctx, s.build.Record(s.shard)); errors.Is(err, storage.ErrNotExist) {
			return s.upToDate, nil
		}
	}
	if err == nil {
		err = s.Discard()
		s.upToDate = err == nil
	}
	return s.upToDate, err
}

// withdraw removes what this shard wrote for a run that can no longer be
// sealed. Its journal stays: the next run of the command can use the rows.
func (s *Shard) withdraw(ctx context.Context) error {
	s.ended = true
	rec, err := seal.ReadRecord(ctx, s.bucket, s.build, s.shard)
	if err == nil && len(rec.AllParts()) > 0 && s.published(rec.AllParts()[0].Name) {
		err = s.bucket.Delete(ctx, s.build.Record(s.shard))
	}
	if err != nil && !errors.Is(err, storage.ErrNotExist) {
		return err
	}
	return s.removeParts(ctx, nil)
}

// result returns the state of the dataset now.
func (s *Shard) result(ctx context.Context, upToDate bool) (Result, error) {
	res := Result{URI: s.bucket.URI(), Identity: s.build.Identity, UpToDate: upToDate}
	m, missing, err := seal.Settle(ctx, s.bucket, s.build, s.shard)
	if err != nil {
		return res, err
	}
	if missing != nil {
		rec, err := seal.ReadRecord(ctx, s.bucket, s.build, s.shard)
		if errors.Is(err, storage.ErrNotExist) {
			err = nil
		}
		res.Missing, res.Rows = missing, rec.Rows
		return res, err
	}
	if upToDate {
		if err := s.judgeAnew(ctx, m); err != nil {
			return res, err
		}
	}
	res.Sealed = dataset.New(*m, s.uri, s.bucket)
	for _, p := range m.Parts {
		if p.Shard == s.shard && m.Shards == s.build.Of {
			res.Rows += p.Rows
		}
	}
	if g := m.Refusals(); len(g) > 0 {
		return res, &manifest.GateError{URI: s.bucket.URI(), Gates: g}
	}
	return res, nil
}

// judgeAnew evaluates the gates of this command on a sealed dataset, when they
// changed. It does not touch a manifest that was replaced meanwhile, and believes
// none whose numbers are not those of its records.
func (s *Shard) judgeAnew(ctx context.Context, m *manifest.Manifest) error {
	if m.JudgedBy(s.spec.Gates) {
		return nil
	}
	now, err := seal.ReadCurrent(ctx, s.bucket)
	if err != nil {
		return err
	}
	if now.Manifest == nil || now.Generation != m.Generation() {
		return seal.Late(s.bucket, now, s.build)
	}
	if err := seal.CheckRecords(ctx, s.bucket, now.Manifest); err != nil {
		return err
	}
	*m = *now.Manifest // perhaps it was compacted
	m.Gates = manifest.Judge(m, s.spec.Gates)
	if err := s.bucket.Swap(ctx, manifest.FileName, now.Raw, m.Encode()); err != nil && !errors.Is(err, storage.ErrChanged) {
		return err
	}
	return nil // of two commands that do this at once the first is kept: each returns the results of its own gates
}

// Discard removes what was written. It does nothing after Commit.
func (s *Shard) Discard() error {
	if s.upToDate || s.ended {
		return nil
	}
	s.ended = true
	return s.removeParts(context.Background(), nil)
}

// removeParts removes the parts that this shard published, except those in
// keep, and the marker that it is running. No other writer can have a part of
// these names: a part is only ever created under a free name.
func (s *Shard) removeParts(ctx context.Context, keep []manifest.Part) error {
	kept := map[string]bool{}
	for _, p := range keep {
		kept[p.Name] = true
	}
	var errs []error
	for _, t := range s.tables {
		t.abandon()
		for _, p := range t.parts {
			if !kept[p.Name] {
				errs = append(errs, s.bucket.Delete(ctx, p.Name))
			}
		}
	}
	if s.marker != "" {
		errs = append(errs, s.bucket.Delete(ctx, s.marker))
	}
	return errors.Join(errs...)
}

// bucketRemove removes every object under a prefix.
func (s *Shard) bucketRemove(ctx context.Context, prefix string) error {
	objects, err := s.bucket.ListAll(ctx, prefix)
	if err != nil {
		return err
	}
	return s.bucket.DeleteAll(ctx, objects)
}

// record returns the record of a shard whose tables are finished.
func (s *Shard) record(o Outcome) manifest.Record {
	r := manifest.Record{Shard: s.shard, Manifest: manifest.Manifest{Format: manifest.Format, Timings: o.Timings, Run: s.spec.Run,
		Written: time.Now().UTC().Truncate(time.Second), Content: manifest.Content{
			Kind: s.spec.Kind, Schema: schema.Version, Stage: s.spec.Stage, Version: s.spec.Version,
			Identity: s.build.Identity, Shards: s.build.Of, Base: s.spec.Base, Columns: s.spec.Columns,
			Inputs: s.spec.Inputs, Params: s.spec.Params,
			Files: s.spec.Files, Counts: o.Counts, Drops: o.Drops, Failures: o.Failures, Facts: o.Facts,
			State: s.secrets.Settings().JSON(o.State),
		}}}
	for _, g := range s.spec.Gates {
		r.Gates = append(r.Gates, manifest.GateResult{Gate: g})
	}
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		t := s.tables[name]
		for _, p := range t.parts {
			r.Bytes += p.Bytes
		}
		if name == "" {
			r.Rows, r.RowsDigest, r.Parts = t.rows, t.digest, t.parts
			continue
		}
		if r.Tables == nil {
			r.Tables = map[string]manifest.Table{}
		}
		r.Tables[name] = manifest.Table{Rows: t.rows, RowsDigest: t.digest, Parts: t.parts}
	}
	return r
}
