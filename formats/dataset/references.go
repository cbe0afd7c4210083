package dataset

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Ref returns a reference to the dataset for a dataset that will be at a URI.
// It is relative when both have a common parent folder, so that the folder can
// be moved.
func (d *Dataset) Ref(role, from string) manifest.Ref {
	return manifest.Ref{Role: role, URI: runroot.Relative(from, d.URI()), Identity: d.Identity,
		Digest: d.digest, RowsDigest: d.RowsDigest.String(), Refused: d.Known()}
}

// OpenBase opens the wide dataset that a thin one is aligned with. If that is
// gone or its manifest changed, the error is a fault.Error that names
// both. A wide dataset is its own base.
func (d *Dataset) OpenBase(ctx context.Context) (*Dataset, error) {
	if d.Base == nil {
		if d.Kind != schema.KindTrajectories {
			return nil, fault.Invalid(d.URI(), "", nil, "the manifest names no base")
		}
		return d, nil
	}
	return d.OpenRef(ctx, *d.Base)
}

// Is reports whether a Ref refers to this dataset in its present state.
func (d *Dataset) Is(r *manifest.Ref) bool { return r != nil && d.digest == r.Digest }

// OpenRef opens the dataset that one of the manifest's references names, with the
// checks of OpenBase: among the bases of the context, or at the Ref's URI if that
// may be read (see runroot.Follows). It ignores gates that refused it: the user accepted
// them when this dataset was made.
func (d *Dataset) OpenRef(ctx context.Context, r manifest.Ref) (*Dataset, error) {
	if out, err := d.given(ctx, r); out != nil || err != nil {
		return out, err
	}
	uri := runroot.Resolve(d.Address, r.URI)
	if !runroot.Follows(d.Address, uri) {
		return nil, fault.Invalid(d.URI(),
			fmt.Sprintf("if you trust that place, pass --base %q, or the URI of a copy", storage.Redact(uri)), nil,
			"its %s is at %q, in another store or at another endpoint, and a manifest alone causes no requests there", r.Role,
			storage.Redact(uri))
	}
	out, err := load(ctx, uri)
	if errors.Is(err, storage.ErrNotExist) {
		return nil, fault.Invalid(d.URI(), "put it back, or make this dataset again", err, "its %s %q is gone", r.Role,
			storage.Redact(uri))
	}
	if err != nil {
		return nil, err
	}
	if out.digest == r.Digest {
		return out, out.checkSizes(ctx, d, r)
	}
	return nil, fault.Invalid(d.URI(), "make this dataset again", nil,
		"its %s %q changed since (identity was %s, is %s; rows digest was %s, is %s)", r.Role, out.URI(), r.Identity,
		out.Identity, r.RowsDigest, out.RowsDigest)
}

type basesKey struct{}

// WithBases returns a context in which referenced datasets are also looked for
// at these URIs, in any store. A dataset there is used if it has the digest
// that the reference names.
func WithBases(ctx context.Context, uris []string) context.Context {
	return context.WithValue(ctx, basesKey{}, uris)
}

// given opens the dataset that a Ref refers to among the bases of the context;
// it returns nil when it is not there.
func (d *Dataset) given(ctx context.Context, r manifest.Ref) (*Dataset, error) {
	uris, _ := ctx.Value(basesKey{}).([]string)
	for _, uri := range uris {
		out, err := load(ctx, uri)
		if err != nil {
			return nil, fmt.Errorf("--base: %w", err)
		}
		if out.digest == r.Digest {
			return out, out.checkSizes(ctx, d, r)
		}
	}
	return nil, nil
}

// checkSizes lists the parts once and compares their sizes with the manifest.
func (d *Dataset) checkSizes(ctx context.Context, by *Dataset, r manifest.Ref) error {
	sizes := map[string]int64{}
	for o, err := range d.Bucket.List(ctx, "part-") {
		if err != nil {
			return err
		}
		sizes[o.Key] = o.Size
	}
	for _, p := range d.PartsOf("") {
		size, ok := sizes[p.Name]
		if !ok {
			return fault.Invalid(by.URI(), "", nil, "its %s %q changed since: part %q is gone", r.Role, d.URI(), p.Name)
		}
		if size != p.Bytes {
			return fault.Invalid(by.URI(), "", nil, "its %s %q changed since: part %q has %d bytes, not %d", r.Role,
				d.URI(), p.Name, size, p.Bytes)
		}
	}
	return nil
}
