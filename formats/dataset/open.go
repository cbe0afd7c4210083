package dataset

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

// Dataset is a complete dataset, open for reading. It is safe for concurrent use.
type Dataset struct {
	Manifest
	uri    string
	digest string // of the manifest file
	bucket *storage.Bucket
}

// OpenOptions say how careful to be.
type OpenOptions struct {
	AcceptGates []string     // read although these gates refused it
	Kind        formats.Kind // refuse any other; "" for any
}

// Open reads the manifest at a URI, writing it first when all shard records
// are there. A missing dataset is storage.ErrNotExist; one with missing
// shards, of another kind, of an unknown major version or refused by a gate
// is a formats.InputError (a *GateError for the last).
func Open(ctx context.Context, uri string, o OpenOptions) (*Dataset, error) { panic("todo") }

// URI is where the dataset is, without credentials.
func (d *Dataset) URI() string { return d.uri }

// Ref points at the dataset from one that will be at uri.
func (d *Dataset) Ref(role, from string) Ref { panic("todo") }

// OpenBase opens the wide dataset that a thin one is aligned with. One that
// is gone or whose manifest changed is a formats.InputError naming both. A
// wide dataset is its own base.
func (d *Dataset) OpenBase(ctx context.Context) (*Dataset, error) { panic("todo") }

// OpenInput opens the input with a role, checked in the same way.
func (d *Dataset) OpenInput(ctx context.Context, role string) (*Dataset, error) { panic("todo") }

// Range is a run of rows in a table's order: [First, First+Rows).
type Range struct{ First, Rows int64 }

// All is the whole main table.
func (d *Dataset) All() Range { return Range{0, d.Rows} }

// Slice returns shard i of n: a run of whole row groups, so whole groups.
// Every row is in exactly one slice, and slices are in row order.
func (d *Dataset) Slice(ctx context.Context, i, n int) (Range, error) { panic("todo") }
