package shards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"

	"github.com/google/uuid"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/dataset/storetime"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Options say which shard to write and whether to replace.
type Options struct {
	Shard, Of int  // Of 0 means 1
	Overwrite bool // replace a dataset of another identity

	hook     storage.Hook // for tests: sees every operation, and may fail it
	partSize int64        // for tests; 0 means partBytes
	partHeld int64        // for tests; 0 means partLight
}

// Shard is one shard of a dataset being written. Its tables may be written
// from different goroutines, each table from one.
type Shard struct {
	bucket   *storage.Bucket
	uri      string
	spec     manifest.Spec
	secrets  *secret.Set
	build    seal.Build
	shard    int
	partSize int64
	partHeld int64
	compacts string // generation of the manifest whose parts this writer compacts; "" for none
	upToDate bool
	ended    bool

	mu     sync.Mutex
	tables map[string]*table
	marker string // identifies this writer while it overwrites; "" before it needs one
}

// Begin starts a shard of the dataset that spec describes. When the dataset, or
// this shard's record, is already there, the shard is UpToDate and must not be
// written. A dataset of another identity at the URI is a *manifest.ExistsError unless
// Overwrite is set; the old dataset then stays readable until the new one is
// sealed. Overwrite replaces the dataset that is there when Begin is called, if it
// was there when the command began: see storetime.Began. If there is another one at the end,
// Commit fails and leaves the newer dataset unchanged. An input that is not Known is
// an error.
func Begin(ctx context.Context, uri string, spec manifest.Spec, o Options) (*Shard, error) {
	o.Of = cmp.Or(o.Of, 1)
	if o.Shard < 0 || o.Of < 1 || o.Of > manifest.MaxShards || o.Shard >= o.Of {
		return nil, fmt.Errorf("begin %q: no shard %d of %d", storage.Redact(uri), o.Shard, o.Of)
	}
	if err := spec.CheckText(storage.Redact(uri)); err != nil {
		return nil, err
	}
	for i := range spec.Inputs {
		if err := spec.Inputs[i].Refused; err != nil {
			return nil, err
		}
	}
	bucket, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	if o.hook != nil {
		bucket = bucket.WithHook(o.hook)
	}
	spec.Run.Root = runroot.Storable(ctx, spec.Run.Root)
	s := &Shard{bucket: bucket, uri: uri, spec: spec.Redacted(secret.From(ctx)), secrets: secret.From(ctx),
		build: seal.Build{Identity: spec.Identity(), Of: o.Of}, shard: o.Shard,
		partSize: cmp.Or(o.partSize, partBytes), partHeld: cmp.Or(o.partHeld, partLight), tables: map[string]*table{}}
	if err := s.look(ctx, o.Overwrite); err != nil {
		return nil, err
	}
	return s, nil
}

// look reads what is already at the URI. This run may replace the dataset that is there now.
func (s *Shard) look(ctx context.Context, overwrite bool) error {
	now, err := seal.ReadCurrent(ctx, s.bucket)
	if errors.Is(err, syscall.ENOTDIR) {
		return fault.Invalid(s.bucket.URI(), "write to another --out", nil, "it is a file, and a dataset is a folder")
	}
	if err != nil {
		return err
	}
	m := now.Manifest
	switch {
	case m != nil && m.Identity == s.build.Identity:
		s.upToDate = true
		return nil
	case m != nil && !overwrite:
		return &manifest.ExistsError{URI: s.bucket.URI(), Old: m.Identity, New: s.build.Identity, Sealed: true,
			Differs: manifest.Differences(m, s.spec)}
	case now.Damage != nil && !overwrite:
		return now.Damage // an unreadable manifest must not be replaced unless asked
	}
	if now.Raw != nil {
		if err := s.bucket.Replaces(ctx); err != nil {
			return err
		}
	}
	s.build.Base = now.Generation
	found, err := seal.Records(ctx, s.bucket)
	if err != nil {
		return err
	}
	s.upToDate = found[s.build][s.shard]
	if overwrite && (s.upToDate || now.Raw == nil) {
		return nil
	}
	if overwrite {
		newer, err := storetime.Newer(ctx, s.bucket, manifest.FileName)
		if err == nil && newer {
			err = seal.Late(s.bucket, now, s.build)
		}
		return err
	}
	for _, other := range seal.SortedBuilds(found) {
		if other.Identity != s.build.Identity {
			return s.foreign(ctx, other, found[other])
		}
	}
	return nil
}

// foreign returns the error about an unsealed dataset of another identity.
func (s *Shard) foreign(ctx context.Context, other seal.Build, have map[int]bool) error {
	e := &manifest.ExistsError{URI: s.bucket.URI(), Old: other.Identity, New: s.build.Identity}
	first := slices.Min(slices.Collect(maps.Keys(have)))
	if r, err := seal.ReadRecord(ctx, s.bucket, other, first); err == nil {
		e.Differs = manifest.Differences(&r.Manifest, s.spec)
	}
	return e
}

// announce marks, before the first part of a run that overwrites is visible,
// that parts which no record names may be of this writer, so that processes
// that clean up the dataset that is being replaced keep them.
func (s *Shard) announce(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.build.Base == "" || s.marker != "" {
		return nil
	}
	marker := fmt.Sprintf("%swriting-%d-%s", s.build.Dir(), s.shard, uuid.NewString())
	if err := s.bucket.Create(ctx, marker, nil); err != nil {
		return err
	}
	s.marker = marker
	return nil
}

// UpToDate reports whether there is nothing to do.
func (s *Shard) UpToDate() bool { return s.upToDate }

// Journal returns where the shard's finished rows are kept until they are in a part.
func (s *Shard) Journal() journals.Place {
	return journals.Place{Bucket: s.bucket, Folder: s.build.Journal(s.shard), Secrets: s.secrets}
}

// Calls returns where the shard's second journal is: of what belongs to rows that are not finished.
func (s *Shard) Calls() journals.Place {
	return journals.Place{Bucket: s.bucket, Folder: s.build.Calls(s.shard), Secrets: s.secrets}
}

// Workspaces returns where the archives of what attempts left are kept until they are in a part.
func (s *Shard) Workspaces() journals.Place {
	return journals.Place{Bucket: s.bucket, Folder: s.build.Workspaces(s.shard)}
}

// Lease returns the object by which the shard's writers agree which one writes. It does not
// decide rows: whichever writes, the first record wins. Sealing the dataset removes it.
func (s *Shard) Lease() lease.Object {
	return lease.Object{Bucket: s.bucket, Key: fmt.Sprintf("%slease-%d.json", s.build.Home(), s.shard)}
}

// Underway returns what exists of the shard's dataset; nil if nothing does.
func (s *Shard) Underway(ctx context.Context) (*seal.Underway, error) {
	return seal.UnderwayOf(ctx, s.bucket, s.build)
}

func (s *Shard) Failures() *dataset.Failures { return dataset.NewFailures(s.bucket, s.secrets) }
