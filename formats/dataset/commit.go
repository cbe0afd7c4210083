package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rollmill/rollmill/storage"
)

// Outcome is what a shard's record says beside its rows.
type Outcome struct {
	Counts, Drops, Failures map[string]int64
	Facts, Timings          map[string]float64
	State                   json.RawMessage
}

// Result is what became of a commit.
type Result struct {
	URI      string
	Identity string
	UpToDate bool
	Rows     int64    // of this shard
	Sealed   *Dataset // the dataset, when all shards are in; else nil
	Missing  []int    // shards still missing
}

// Commit ends every table, writes the shard's record and, when it is the last,
// the manifest. If another process wrote this shard's record first, that one
// stands and our parts are removed. When a gate refuses the sealed dataset,
// the Result is whole and the error is a *GateError. On an UpToDate shard it
// only looks, but with gates that changed the dataset is judged anew.
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
	if err := s.bucketRemove(ctx, s.run.journal(s.shard)); err != nil {
		return Result{}, err
	}
	return s.result(ctx, lost)
}

// leave writes the shard's record, and tells whether another's stands.
func (s *Shard) leave(ctx context.Context, data []byte) (lost bool, err error) {
	m, err := readManifest(ctx, s.bucket)
	if err == nil && m.Identity == s.run.identity {
		err = storage.ErrExist // sealed meanwhile, perhaps in another number of shards
	} else {
		s.ended = true // from here on the record may stand, whatever we are told
		err = s.bucket.Create(ctx, s.run.record(s.shard), data)
	}
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, storage.ErrExist) {
		return false, fmt.Errorf("commit shard %d of %d: %w", s.shard, s.run.of, err)
	}
	s.ended = true
	return true, s.removeParts(ctx)
}

// result looks at what stands now.
func (s *Shard) result(ctx context.Context, upToDate bool) (Result, error) {
	res := Result{URI: s.bucket.URI(), Identity: s.run.identity, UpToDate: upToDate}
	m, missing, err := settle(ctx, s.bucket, s.run, s.overwrite)
	if err != nil {
		return res, err
	}
	if missing != nil {
		res.Missing = missing
		return res, s.count(ctx, &res)
	}
	if upToDate && !slices.EqualFunc(m.Gates, s.spec.Gates, func(r GateResult, g Gate) bool { return sameGate(r.Gate, g) }) {
		m.Gates = judge(m, s.spec.Gates)
		if err := s.bucket.Write(ctx, ManifestFile, m.encode()); err != nil {
			return res, err
		}
	}
	res.Sealed = newDataset(*m, s.uri, s.bucket)
	for _, p := range m.Parts {
		if p.Shard == s.shard && m.Shards == s.run.of {
			res.Rows += p.Rows
		}
	}
	if g := m.refused(); g != nil {
		return res, &GateError{URI: s.bucket.URI(), Gates: g}
	}
	return res, nil
}

// count fills in the rows of a shard whose dataset is not sealed yet.
func (s *Shard) count(ctx context.Context, res *Result) error {
	rec, err := readRecord(ctx, s.bucket, s.run, s.shard)
	if errors.Is(err, storage.ErrNotExist) {
		return nil
	}
	res.Rows = rec.Rows
	return err
}

func sameGate(a, b Gate) bool {
	same := func(x, y *float64) bool { return x == nil && y == nil || x != nil && y != nil && *x == *y }
	return a.Name == b.Name && a.Count == b.Count && a.Of == b.Of && same(a.Max, b.Max) && same(a.Min, b.Min)
}

// Discard removes what was written. After Commit it does nothing.
func (s *Shard) Discard() error {
	if s.upToDate || s.ended {
		return nil
	}
	s.ended = true
	return s.removeParts(context.Background())
}

// removeParts removes the parts that this shard published. No one else can
// have a part of these names: a part is only ever created under a free one.
func (s *Shard) removeParts(ctx context.Context) error {
	var errs []error
	for _, t := range s.tables {
		t.abandon()
		for _, p := range t.parts {
			errs = append(errs, s.bucket.Delete(ctx, p.Name))
		}
	}
	return errors.Join(errs...)
}

// bucketRemove removes every object under a prefix.
func (s *Shard) bucketRemove(ctx context.Context, prefix string) error {
	for o, err := range s.bucket.List(ctx, prefix) {
		if err != nil {
			return err
		}
		if err := s.bucket.Delete(ctx, o.Key); err != nil {
			return err
		}
	}
	return nil
}
