package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/storage"
)

// Found is every dataset and receipt that may tell of a trajectory.
type Found struct {
	Root     string
	Datasets []*dataset.Dataset // wide ones of rollout first, then by URI
	Receipts []Receipt
	Troubles []string // what could not be opened, and why
}

// Receipt is a receipt and where it is.
type Receipt struct {
	URI string
	formats.Receipt
}

// Find finds the complete datasets and the receipts under a URI: a run's, an
// epoch's, a dataset's.
func Find(ctx context.Context, uri string) (*Found, error) {
	g := &Found{Root: storage.Redact(uri)}
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	for o, err := range b.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		folder := storage.Join(uri, path.Dir(o.Key))
		if path.Dir(o.Key) == "." {
			folder = uri
		}
		switch path.Base(o.Key) {
		case dataset.ManifestFile:
			if err := g.open(ctx, folder); err != nil {
				return nil, err
			}
		case formats.ReceiptFile:
			if err := g.receipt(ctx, b, o.Key, folder); err != nil {
				return nil, err
			}
		}
	}
	if len(g.Datasets) == 0 {
		return nil, formats.Invalid(g.Root, "name a run's folder, an epoch's, or a dataset", storage.ErrNotExist, "there is no complete dataset")
	}
	g.sort()
	return g, nil
}

// sort puts bases before what is made of them.
func (g *Found) sort() {
	slices.SortStableFunc(g.Datasets, func(a, b *dataset.Dataset) int {
		if (a.Stage == stageRollout) != (b.Stage == stageRollout) {
			return map[bool]int{true: -1, false: 1}[a.Stage == stageRollout]
		}
		return strings.Compare(a.URI(), b.URI())
	})
}

// Follow adds the datasets that those found were made from, wherever they are,
// and theirs.
func (g *Found) Follow(ctx context.Context) {
	for i := 0; i < len(g.Datasets); i++ { // it grows
		g.upstream(ctx, g.Datasets[i])
	}
	g.sort()
}

// open adds a dataset. One that is being written is none yet.
func (g *Found) open(ctx context.Context, uri string) error {
	d, err := openAny(ctx, uri)
	if errors.Is(err, storage.ErrNotExist) || errors.Is(err, dataset.ErrIncomplete) {
		return nil
	}
	if err != nil {
		return err
	}
	g.Datasets = append(g.Datasets, d)
	return nil
}

func (g *Found) receipt(ctx context.Context, b *storage.Bucket, key, folder string) error {
	data, err := b.Read(ctx, key)
	if err != nil {
		return err
	}
	var r formats.Receipt
	if err := json.Unmarshal(data, &r); err != nil {
		return formats.Invalid(storage.Redact(folder), "submit again", err, "its receipt cannot be read")
	}
	g.Receipts = append(g.Receipts, Receipt{storage.Redact(folder), r})
	return nil
}

// upstream adds what a dataset was made from. What is gone or has changed is a
// trouble to tell of, and no reason to tell nothing.
func (g *Found) upstream(ctx context.Context, d *dataset.Dataset) {
	for _, ref := range d.Inputs {
		if ref.Identity == "" || ref.Role == "previous" || g.has(func(o *dataset.Dataset) bool { return o.Is(&ref) }) { // a file, an epoch that this one only goes on from, or there already
			continue
		}
		in, err := d.OpenRef(ctx, ref)
		if err != nil {
			g.Troubles = append(g.Troubles, err.Error())
			continue
		}
		g.Datasets = append(g.Datasets, in)
	}
}

func (g *Found) has(f func(*dataset.Dataset) bool) bool { return slices.ContainsFunc(g.Datasets, f) }
