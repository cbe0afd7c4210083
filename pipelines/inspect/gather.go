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

// gathered is every dataset and receipt that may tell of a trajectory.
type gathered struct {
	root     string
	datasets []*dataset.Dataset // wide ones of rollout first, then by URI
	receipts []receipt
	troubles []string // what could not be opened, and why
}

type receipt struct {
	uri string
	formats.Receipt
}

// gather finds the complete datasets and the receipts under a URI, and the
// datasets that these were made from, wherever they are.
func gather(ctx context.Context, uri string) (*gathered, error) {
	g := &gathered{root: storage.Redact(uri)}
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
	if len(g.datasets) == 0 {
		return nil, formats.Invalid(g.root, "name a run's folder, an epoch's, or a dataset", storage.ErrNotExist, "there is no complete dataset")
	}
	for i := 0; i < len(g.datasets); i++ { // it grows
		g.upstream(ctx, g.datasets[i])
	}
	slices.SortStableFunc(g.datasets, func(a, b *dataset.Dataset) int {
		if (a.Stage == stageRollout) != (b.Stage == stageRollout) {
			return map[bool]int{true: -1, false: 1}[a.Stage == stageRollout]
		}
		return strings.Compare(a.URI(), b.URI())
	})
	return g, nil
}

// open adds a dataset. One that is being written is none yet.
func (g *gathered) open(ctx context.Context, uri string) error {
	d, err := openAny(ctx, uri)
	if errors.Is(err, storage.ErrNotExist) || errors.Is(err, dataset.ErrIncomplete) {
		return nil
	}
	if err != nil {
		return err
	}
	g.datasets = append(g.datasets, d)
	return nil
}

func (g *gathered) receipt(ctx context.Context, b *storage.Bucket, key, folder string) error {
	data, err := b.Read(ctx, key)
	if err != nil {
		return err
	}
	var r formats.Receipt
	if err := json.Unmarshal(data, &r); err != nil {
		return formats.Invalid(storage.Redact(folder), "submit again", err, "its receipt cannot be read")
	}
	g.receipts = append(g.receipts, receipt{storage.Redact(folder), r})
	return nil
}

// upstream adds what a dataset was made from. What is gone or has changed is a
// trouble to tell of, and no reason to tell nothing.
func (g *gathered) upstream(ctx context.Context, d *dataset.Dataset) {
	for _, ref := range d.Inputs {
		if ref.Identity == "" || ref.Role == "previous" || g.has(func(o *dataset.Dataset) bool { return o.Is(&ref) }) { // a file, an epoch that this one only goes on from, or there already
			continue
		}
		in, err := d.OpenRef(ctx, ref)
		if err != nil {
			g.troubles = append(g.troubles, err.Error())
			continue
		}
		g.datasets = append(g.datasets, in)
	}
}

func (g *gathered) has(f func(*dataset.Dataset) bool) bool { return slices.ContainsFunc(g.datasets, f) }
