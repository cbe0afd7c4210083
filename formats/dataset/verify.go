package dataset

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Verify reads everything that a dataset names and compares it with the
// manifest: each part's size and digest, each table's rows and rows digest,
// each wide row's payload digest. The first difference is a fault.Error. Digests
// of rows cover columns that this version may not know: of a dataset of a newer minor
// version, the rows are counted and the digests of the parts compared.
func Verify(ctx context.Context, d *Dataset) error {
	for _, p := range d.StoredParts() {
		if err := d.verifyBytes(ctx, p); err != nil {
			return err
		}
	}
	if err := seal.CheckRecords(ctx, d.Bucket, &d.Manifest); err != nil {
		return err
	}
	for _, name := range d.TableNames() {
		if d.Removed(name) {
			continue
		}
		if err := d.verifyRows(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dataset) verifyBytes(ctx context.Context, p manifest.Part) error {
	src, _, err := d.OpenPart(ctx, p)
	if err != nil {
		return err
	}
	defer src.Close()
	got, err := seal.DigestOf(src)
	if err != nil {
		return err
	}
	if got != p.Digest {
		return fault.Invalid(storage.Join(d.URI(), p.Name), "", nil, "the part's digest is %s; the manifest says %s",
			got, p.Digest)
	}
	return nil
}

// verifyRows counts and digests a table's rows. For a table of an unknown row
// kind only the digests of the parts are compared.
func (d *Dataset) verifyRows(ctx context.Context, table string) error {
	digest, known := digesters[d.KindOf(table)]
	if !known {
		return nil
	}
	got, err := digest(ctx, d, table)
	if err != nil {
		return err
	}
	return d.SameRows(table, got)
}

// SameRows compares the digest of a table's rows with the manifest.
func (d *Dataset) SameRows(table string, got formats.RowsDigest) error {
	if t, _ := d.TableOf(table); got != t.RowsDigest && !d.newer() {
		return fault.Invalid(d.URI(), "", nil,
			"table %q has rows digest %s; the manifest says %s", table, got, t.RowsDigest)
	}
	return nil
}

// digesters digest the rows of a table, by the kind of the main table or the name of a further one.
var digesters = map[schema.Kind]func(context.Context, *Dataset, string) (formats.RowsDigest, error){
	schema.KindTrajectories: digestRows[formats.Trajectory],
	schema.KindScores:       digestRows[formats.Score],
	schema.KindGroups:       digestRows[formats.Member],
	schema.TableGroups:      digestRows[formats.GroupStats],
	schema.TablePairs:       digestRows[formats.Pair],
	schema.TableLabels:      digestRows[formats.Label],
	schema.TableDecisions:   digestRows[decision.Decision],
	schema.TablePlan:        digestRows[decision.Planned],
	schema.TableExamples:    digestRows[decision.ExampleStats],
	schema.TableWorkspaces:  digestRows[formats.WorkspacePiece],
}

func digestRows[T any](ctx context.Context, d *Dataset, table string) (sum formats.RowsDigest, err error) {
	all, _ := d.TableOf(table)
	at, atOnce := int64(0), 64
	if table == schema.TableWorkspaces { // a row has megabytes
		atOnce = 1
	}
	for row, err := range each[T](ctx, d, table, Range{0, all.Rows}, atOnce) {
		if err != nil {
			return sum, err
		}
		if t, wide := any(row).(*formats.Trajectory); wide && !d.newer() {
			written := t.PayloadDigest
			if t.SetPayloadDigest(); t.PayloadDigest != written {
				return sum, fault.Invalid(d.URI(), "", nil,
					"the payload digest of trajectory %q is %s; its row says %s",
					t.TrajectoryID, t.PayloadDigest, written).InRow(at)
			}
		}
		sum.Add(formats.Digest(row))
		at++
	}
	return sum, nil
}

// Unnamed lists the parts in the dataset's folder that are not of it: see the function Unnamed.
func (d *Dataset) Unnamed(ctx context.Context) ([]string, error) {
	return seal.Unnamed(ctx, d.Bucket, &d.Manifest)
}
