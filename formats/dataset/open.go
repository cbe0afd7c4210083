package dataset

import (
	"context"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Dataset is a complete dataset, open for reading. It is safe for concurrent use.
type Dataset struct {
	manifest.Manifest
	Address string
	digest  string // fingerprint of the manifest
	Bucket  *storage.Bucket
	footers footers // of parts, if they are kept
}

func New(m manifest.Manifest, uri string, b *storage.Bucket) *Dataset {
	return &Dataset{Manifest: m, Address: uri, digest: m.Fingerprint(), Bucket: b}
}

// OpenOptions say which datasets Open accepts.
type OpenOptions struct {
	AcceptGates []string    // read the dataset although these gates refused it
	IgnoreGates bool        // read it whatever gates refused it: for commands that only look
	Kind        schema.Kind // refuse any other; "" for any
}

// Open reads the manifest at a URI, and writes it first when all shard records
// are there. A missing dataset is storage.ErrNotExist. A dataset with missing
// shards, of another kind, of an unknown major version or refused by a gate is
// a fault.Error (a *manifest.GateError for the last).
func Open(ctx context.Context, uri string, o OpenOptions) (*Dataset, error) {
	d, err := load(ctx, uri)
	if err != nil {
		return nil, err
	}
	m, b := &d.Manifest, d.Bucket
	if o.Kind != "" && m.Kind != o.Kind {
		return nil, fault.Invalid(b.URI(), m.Stage+" wrote it: name a dataset of the step that this one follows", nil,
			"holds %s, not %s", m.Kind, o.Kind)
	}
	refused := slices.DeleteFunc(m.Refusals(), func(g manifest.GateResult) bool {
		return o.IgnoreGates || slices.Contains(o.AcceptGates, g.Name)
	})
	if len(refused) > 0 {
		return nil, &manifest.GateError{URI: b.URI(), Gates: refused}
	}
	return d, nil
}

// load opens the dataset at a URI, without any condition.
func load(ctx context.Context, uri string) (*Dataset, error) {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	m, err := seal.Find(ctx, b)
	if err != nil {
		return nil, err
	}
	return New(*m, uri, b), nil
}

// Known returns a fault.Error for a dataset of a newer minor version of the
// schema, which has columns that this version does not know. Such a dataset can be
// read. Nothing is made of it, because these columns would be lost: Begin refuses it as
// an input.
func (d *Dataset) Known() error {
	if !d.newer() {
		return nil
	}
	return fault.Invalid(d.URI(), manifest.UpgradeHint, nil,
		"it has schema %s, and this rollmill writes %s: columns that it does not know would be lost",
		d.Schema, schema.Version)
}

func (d *Dataset) newer() bool { return schema.Newer(d.Schema, schema.Version) }

// URI returns where the dataset is, without credentials.
func (d *Dataset) URI() string { return storage.Redact(d.Address) }

// Local reports whether the dataset is on a local disk.
func (d *Dataset) Local() bool {
	_, local := d.Bucket.Local()
	return local
}

// Range is a run of rows in a table's order: [First, First+Rows).
type Range struct{ First, Rows int64 }

// All returns the whole main table.
func (d *Dataset) All() Range { return Range{0, d.Rows} }

// AllOf returns the whole of a further table, or of the main one for "".
func (d *Dataset) AllOf(table string) Range {
	if table == "" {
		return d.All()
	}
	return Range{0, d.Tables[table].Rows}
}

// Slice returns shard i of n: consecutive whole row groups, so whole groups.
// Every row is in exactly one slice, and slices are in row order.
func (d *Dataset) Slice(ctx context.Context, i, n int) (Range, error) {
	if n < 1 || i < 0 || i >= n {
		return Range{}, fault.Invalid(d.URI(), "", nil, "no slice %d of %d", i, n)
	}
	first, end := d.cut(i, n), d.cut(i+1, n)
	return Range{first, end - first}, nil
}

// cut returns where slice i of n begins: the first row group at or after its share.
func (d *Dataset) cut(i, n int) int64 {
	if i == n {
		return d.Rows
	}
	var at int64
	for _, p := range d.Parts {
		for _, rows := range p.RowGroups {
			if at*int64(n) >= d.Rows*int64(i) {
				return at
			}
			at += rows
		}
	}
	return at
}

// RunOf returns the first run that is set: that of a thin dataset, else of its
// base, and so on. A nil dataset has none.
func RunOf(all ...*Dataset) manifest.Run {
	for _, d := range all {
		if d != nil && d.Run.ID != "" {
			return d.Run
		}
	}
	return manifest.Run{}
}

// ColumnNames returns the columns of a dataset's own rows: those of its first part, or,
// without one, all that its kind has.
func (d *Dataset) ColumnNames(ctx context.Context) (names []string, err error) {
	parts := d.PartsOf("")
	if len(parts) == 0 {
		for _, c := range schema.Columns(d.Kind) {
			names = append(names, c.Path)
		}
	} else {
		src, f, err := d.OpenPart(ctx, parts[0])
		if err != nil {
			return nil, err
		}
		defer src.Close()
		names = f.Names()
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, ".") }), nil
}
