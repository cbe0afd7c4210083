// Package find finds the datasets and receipts of a run, and in which rows of them a trajectory
// is, given its id or the beginning of one. It reads manifests and ids, no payload.
package find

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

const (
	stageRollout = "rollout"
	StageCurate  = "curate"
)

// Found holds the datasets and receipts that may have a trajectory.
type Found struct {
	Root     string
	Datasets []*dataset.Dataset // wide datasets of rollout first, then by URI
	Receipts []Receipt
	Problems []string // what could not be opened, with the reason

	Unfinished []string // datasets with missing shards, and which shards
}

// Receipt is a receipt and its URI.
type Receipt struct {
	URI string
	receipts.Receipt
}

// Find returns the complete datasets and the receipts under the URI of a run, an
// epoch or a dataset. A damaged dataset is listed under Problems; it is an error
// only if nothing else was found.
func Find(ctx context.Context, uri string) (*Found, error) {
	g := &Found{Root: storage.Redact(uri)}
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	all := catalogue.Catalogue{Root: uri, Bucket: b}
	list, worst := all.List(ctx)
	switch {
	case errors.Is(worst, syscall.ENOTDIR):
		_, err := dataset.Open(ctx, uri, dataset.OpenOptions{}) // returns a better error if the URI is a file
		return nil, cmp.Or(err, worst)
	case errors.Is(worst, storage.ErrNotExist):
		list, worst = &catalogue.Listing{}, nil
	case worst != nil:
		return nil, worst
	}
	for _, f := range list.Entries {
		err := g.add(ctx, f)
		switch {
		case errors.Is(err, seal.ErrIncomplete):
			g.Unfinished = append(g.Unfinished, err.Error())
		case errors.Is(err, fault.ErrInvalid):
			g.Problems = append(g.Problems, err.Error())
		case err != nil:
			return nil, err
		}
		worst = cmp.Or(worst, err)
	}
	if len(g.Datasets) == 0 {
		return nil, cmp.Or(worst,
			error(fault.Invalid(g.Root, "name a run's folder, an epoch's, or a dataset", storage.ErrNotExist,
				"there is no complete dataset")))
	}
	g.sort()
	return g, nil
}

// add adds the dataset and the receipt of a folder: a dataset has a manifest, or records of shards that
// wait for one. A gate does not matter.
func (g *Found) add(ctx context.Context, f *catalogue.Entry) error {
	if f.Receipt {
		r, err := history.ReadReceipt(ctx, f.URI)
		if err != nil {
			return err
		}
		if r != nil { // it was not removed since
			g.Receipts = append(g.Receipts, Receipt{storage.Redact(f.URI), *r})
		}
	}
	if !f.Complete && f.Records == 0 {
		return nil
	}
	d, err := dataset.Open(ctx, f.URI, dataset.OpenOptions{IgnoreGates: true})
	if errors.Is(err, storage.ErrNotExist) { // it was removed after it was listed
		return nil
	}
	if err == nil {
		g.Datasets = append(g.Datasets, d)
	}
	return err
}

// sort puts bases before the datasets that were made from them.
func (g *Found) sort() {
	slices.SortStableFunc(g.Datasets, func(a, b *dataset.Dataset) int {
		if (a.Stage == stageRollout) != (b.Stage == stageRollout) {
			return map[bool]int{true: -1, false: 1}[a.Stage == stageRollout]
		}
		return comparePaths(a.URI(), b.URI())
	})
}

// comparePaths orders URIs by what is before their parameters, so that a bucket's
// datasets are in the order of a disk's.
func comparePaths(a, b string) int {
	a, _, _ = strings.Cut(a, "?")
	b, _, _ = strings.Cut(b, "?")
	return strings.Compare(a, b)
}

// Follow adds the datasets from which those found were made, directly or
// indirectly, wherever they are. A missing or changed one is added to Problems.
func (g *Found) Follow(ctx context.Context) {
	for i := 0; i < len(g.Datasets); i++ { // the list grows in the loop
		d := g.Datasets[i]
		for _, ref := range d.Inputs {
			if !hasTrajectories(ref) || g.Has(func(o *dataset.Dataset) bool { return o.Is(&ref) }) {
				continue
			}
			in, err := d.OpenRef(ctx, ref)
			if err != nil {
				g.Problems = append(g.Problems, err.Error())
				continue
			}
			g.Datasets = append(g.Datasets, in)
		}
	}
	g.sort()
}

// hasTrajectories reports whether an input has trajectories that are in the
// output. A file has none, and a previous epoch has only its own.
func hasTrajectories(ref manifest.Ref) bool { return ref.Identity != "" && ref.Role != "previous" }

func (g *Found) Has(f func(*dataset.Dataset) bool) bool { return slices.ContainsFunc(g.Datasets, f) }

// ReadRow reads one row.
func ReadRow[T any](ctx context.Context, d *dataset.Dataset, table string, row int64) (T, error) {
	list, err := dataset.ReadAll[T](ctx, d, table, dataset.Range{First: row, Rows: 1})
	if err == nil && len(list) == 0 {
		err = fault.Invalid(d.URI(), "", nil, "it has no row %d", row)
	}
	if err != nil {
		var none T
		return none, err
	}
	return list[0], nil
}
