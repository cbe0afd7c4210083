package dataset

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

// Ref points at the dataset from one that will be at uri: relative when both
// share a parent folder, so that the folder can be moved.
func (d *Dataset) Ref(role, from string) Ref {
	return Ref{Role: role, URI: relative(storage.Redact(from), d.URI()), Identity: d.Identity,
		Digest: d.digest, RowsDigest: d.RowsDigest.String()}
}

// place splits a URI into what two places must share to be related, the path
// from there, and the query.
func place(uri string) (root, p, query string) {
	if local, is, err := storage.Path(uri); is && err == nil {
		if abs, err := filepath.Abs(local); err == nil {
			local = abs
		}
		return "", filepath.ToSlash(local), ""
	}
	scheme, rest, _ := strings.Cut(uri, "://")
	rest, query, _ = strings.Cut(rest, "?")
	host, p, _ := strings.Cut(rest, "/")
	return scheme + "://" + host, path.Clean("/" + p), query
}

func relative(from, to string) string {
	fromRoot, fromPath, fromQuery := place(from)
	root, p, query := place(to)
	absolute := to
	if root == "" {
		absolute = p
	}
	if fromRoot != root || !sameQuery(fromQuery, query) {
		return absolute
	}
	a, b := strings.Split(fromPath, "/")[1:], strings.Split(p, "/")[1:]
	shared := 0
	for shared < len(a) && shared < len(b) && a[shared] == b[shared] {
		shared++
	}
	if shared == 0 && root == "" || shared == len(a) {
		return absolute
	}
	up := strings.Repeat("../", len(a)-shared)
	return strings.TrimSuffix(up+strings.Join(b[shared:], "/"), "/")
}

// resolve turns a Ref's URI into one that can be opened.
func (d *Dataset) resolve(ref string) string {
	if !strings.HasPrefix(ref, "../") {
		return ref
	}
	root, p, _ := place(d.uri)
	p = path.Join(p, ref)
	if root == "" {
		return p
	}
	if _, query, ok := strings.Cut(d.uri, "?"); ok {
		p += "?" + query
	}
	if scheme, rest, _ := strings.Cut(d.uri, "://"); root != scheme+"://" {
		host, _, _ := strings.Cut(rest, "/") // with the user, if there is one
		root = scheme + "://" + host
	}
	return root + p
}

// OpenBase opens the wide dataset that a thin one is aligned with. One that
// is gone or whose manifest changed is a formats.InputError naming both. A
// wide dataset is its own base.
func (d *Dataset) OpenBase(ctx context.Context) (*Dataset, error) {
	if d.Base == nil {
		if d.Kind != formats.KindTrajectories {
			return nil, formats.Invalid(d.URI(), "", nil, "the manifest names no base")
		}
		return d, nil
	}
	return d.follow(ctx, *d.Base)
}

// OpenInput opens the input with a role, checked in the same way.
func (d *Dataset) OpenInput(ctx context.Context, role string) (*Dataset, error) {
	for _, r := range d.Inputs {
		if r.Role == role {
			return d.follow(ctx, r)
		}
	}
	return nil, formats.Invalid(d.URI(), "", nil, "the manifest names no input %q", role)
}

// OpenRef opens what one of the manifest's inputs points at, checked in the
// same way.
func (d *Dataset) OpenRef(ctx context.Context, r Ref) (*Dataset, error) { return d.follow(ctx, r) }

// Is tells whether a Ref points at this dataset, as it is now.
func (d *Dataset) Is(r *Ref) bool { return r != nil && d.digest == r.Digest }

// follow opens what a Ref points at: where the context says, or where the Ref
// says if that may be asked (see Follows). Gates that refused it do not
// count: who made this dataset from it has accepted them.
func (d *Dataset) follow(ctx context.Context, r Ref) (*Dataset, error) {
	if out, err := d.given(ctx, r); out != nil || err != nil {
		return out, err
	}
	uri := d.resolve(r.URI)
	if !Follows(d.uri, uri) {
		return nil, formats.Invalid(d.URI(), fmt.Sprintf("if you trust that place, say --base %q, or where a copy of it is", storage.Redact(uri)), nil,
			"its %s is at %q, in another store or at another endpoint, where a manifest alone sends nobody", r.Role, storage.Redact(uri))
	}
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	m, err := find(ctx, b)
	if errors.Is(err, storage.ErrNotExist) {
		return nil, formats.Invalid(d.URI(), "put it back, or make this dataset again", err, "its %s %q is gone", r.Role, b.URI())
	}
	if err != nil {
		return nil, err
	}
	out := newDataset(*m, uri, b)
	if out.digest != r.Digest {
		return nil, formats.Invalid(d.URI(), "make this dataset again", nil,
			"its %s %q changed since (identity was %s, is %s; rows digest was %s, is %s)", r.Role, b.URI(), r.Identity, m.Identity, r.RowsDigest, m.RowsDigest)
	}
	return out, out.checkSizes(ctx, d, r)
}

type basesKey struct{}

// WithBases returns a context in which datasets that others refer to are also
// looked for at URIs, wherever these are: what has the digest that is wanted is
// taken.
func WithBases(ctx context.Context, uris []string) context.Context {
	return context.WithValue(ctx, basesKey{}, uris)
}

// given opens what a Ref points at among the bases of the context; nil when it
// is none of them.
func (d *Dataset) given(ctx context.Context, r Ref) (*Dataset, error) {
	uris, _ := ctx.Value(basesKey{}).([]string)
	for _, uri := range uris {
		b, err := storage.Open(ctx, uri)
		if err != nil {
			return nil, err
		}
		m, err := find(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("--base: %w", err)
		}
		if out := newDataset(*m, uri, b); out.digest == r.Digest {
			return out, out.checkSizes(ctx, d, r)
		}
	}
	return nil, nil
}

// checkSizes lists the parts once and compares their sizes.
func (d *Dataset) checkSizes(ctx context.Context, by *Dataset, r Ref) error {
	sizes := map[string]int64{}
	for o, err := range d.bucket.List(ctx, "part-") {
		if err != nil {
			return err
		}
		sizes[o.Key] = o.Size
	}
	for _, p := range d.Parts {
		size, ok := sizes[p.Name]
		if !ok {
			return formats.Invalid(by.URI(), "", nil, "its %s %q changed since: part %q is gone", r.Role, d.URI(), p.Name)
		}
		if size != p.Bytes {
			return formats.Invalid(by.URI(), "", nil, "its %s %q changed since: part %q has %d bytes, not %d", r.Role, d.URI(), p.Name, size, p.Bytes)
		}
	}
	return nil
}
