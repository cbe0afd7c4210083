package dataset

import (
	"bytes"
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

// Verify reads everything that a dataset names and compares it with the
// manifest: each part's size and digest, each table's rows and rows digest,
// each wide row's payload digest. The first difference is a formats.InputError. Digests
// of rows cover columns that this version may not know: of a dataset of a newer minor
// version, the rows are counted and the digests of the parts compared.
func Verify(ctx context.Context, d *Dataset) error {
	if d.plain != nil {
		return d.verifyPlain(ctx)
	}
	for _, p := range d.storedParts() {
		if err := d.verifyBytes(ctx, p); err != nil {
			return err
		}
	}
	if err := d.verifyRecords(ctx); err != nil {
		return err
	}
	for _, name := range d.tables() {
		if err := d.verifyRows(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// verifyRecords compares the manifest with the shards' records if these are
// there: a dataset may have been copied without them.
func (d *Dataset) verifyRecords(ctx context.Context) error {
	found, err := records(ctx, d.bucket)
	if err != nil {
		return err
	}
	if d.newer() {
		return nil // its records have fields that this version would leave out
	}
	var other error
	for _, r := range sortedBuilds(found) {
		if r.of != d.Shards || len(found[r]) < r.of {
			continue
		}
		all, err := readAllRecords(ctx, d.bucket, r)
		switch {
		case err != nil && r.identity != d.Identity:
			continue
		case err != nil:
			return err
		}
		m := merge(all)
		if bytes.Equal(m.raw, d.raw) {
			return nil
		}
		sameParts := len(m.Parts) > 0 && slices.EqualFunc(m.Parts, d.Parts, func(a, b Part) bool { return a.Name == b.Name })
		if r.identity != d.Identity && !sameParts { // another dataset's, which is to replace this one
			continue
		}
		other = formats.Invalid(storage.Join(d.URI(), ManifestFile), "", nil, // who verifies reports findings, which have no hint
			"the manifest is not what the shards' records say (rows digest %s; theirs is %s): delete it and run `rollmill seal`, which makes "+
				"it again of the records", d.RowsDigest, m.RowsDigest)
	}
	return other
}

func (d *Dataset) verifyBytes(ctx context.Context, p Part) error {
	src, _, err := d.openPart(ctx, p)
	if err != nil {
		return err
	}
	defer src.Close()
	got, err := digestOf(src)
	if err != nil {
		return err
	}
	if got != p.Digest && p.Digest != "" {
		return formats.Invalid(storage.Join(d.URI(), p.Name), "", nil, "the part's digest is %s; the manifest says %s",
			got, p.Digest)
	}
	return nil
}

// verifyRows counts and digests a table's rows. For a table of an unknown row
// kind only the digests of the parts are compared.
func (d *Dataset) verifyRows(ctx context.Context, table string) error {
	of, known := rowKinds[d.kindOf(table)]
	if !known {
		return nil
	}
	got, err := of.digest(ctx, d, table)
	if err != nil {
		return err
	}
	return d.sameRows(table, got)
}

// sameRows compares the digest of a table's rows with the manifest.
func (d *Dataset) sameRows(table string, got formats.RowsDigest) error {
	if t, _ := d.table(table); got != t.RowsDigest && !d.newer() {
		return formats.Invalid(d.URI(), "", nil, "table %q has rows digest %s; the manifest says %s", table, got, t.RowsDigest)
	}
	return nil
}

// rowKind is what can be done with the rows of a table whatever they are.
type rowKind struct {
	digest func(context.Context, *Dataset, string) (formats.RowsDigest, error)
	merge  func(context.Context, *Shard, *Dataset, string) error
}

// rowKinds are the known kinds of rows, by the kind of the main table or the name
// of a further one.
var rowKinds = map[formats.Kind]rowKind{
	formats.KindTrajectories: {digestRows[formats.Trajectory], mergeWide},
	formats.KindScores:       thin[formats.Score](),
	formats.KindGroups:       thin[formats.Member](),
	formats.TableGroups:      thin[formats.GroupStats](),
	formats.TablePairs:       thin[formats.Pair](),
	formats.TableLabels:      thin[formats.Label](),
	formats.TableDecisions:   thin[formats.Decision](),
	formats.TablePlan:        thin[formats.Planned](),
	formats.TableExamples:    thin[formats.ExampleStats](),
}

func thin[T any]() rowKind { return rowKind{digestRows[T], mergeRows[T]} }

func digestRows[T any](ctx context.Context, d *Dataset, table string) (sum formats.RowsDigest, err error) {
	all, _ := d.table(table)
	at := int64(0)
	for row, err := range each[T](ctx, d, table, Range{0, all.Rows}, 64) {
		if err != nil {
			return sum, err
		}
		if t, wide := any(row).(*formats.Trajectory); wide && !d.newer() {
			written := t.PayloadDigest
			if t.SetPayloadDigest(); t.PayloadDigest != written {
				return sum, formats.Invalid(d.URI(), "", nil, "the payload digest of trajectory %q is %s; its row says %s",
					t.TrajectoryID, t.PayloadDigest, written).InRow(at)
			}
		}
		sum.Add(formats.Digest(row))
		at++
	}
	return sum, nil
}
