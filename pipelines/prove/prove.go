package prove

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/scratch"
)

// Options say what to prove.
type Options struct {
	Stages
	URI       string         // of an epoch, a run or a dataset
	Programs  bool           // run the reward programs that manifests name
	Dir       string         // for what is made again; "" is the system's
	Sequences exporters.File // sequences.parquet

	// Ledger returns the submissions of the ledger that a receipt names.
	Ledger func(context.Context, *find.Receipt) ([]submit.Listed, error)
}

// prover is one run.
type prover struct {
	Options
	found *find.Found
	dir   string
	out   *Result
}

// Run computes again what is under a URI. A difference is no error; an error means that
// something could not be read.
func Run(ctx context.Context, o Options) (result *Result, err error) {
	found, err := find.Find(ctx, o.URI)
	if err != nil {
		return nil, err
	}
	dir, err := scratch.Make(o.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, dir.Close()) }()
	p := &prover{o, found, dir.Path, &Result{URI: found.Root, Proofs: []*Proof{}}}
	slices.SortStableFunc(found.Datasets, func(a, b *dataset.Dataset) int { return p.depth(a) - p.depth(b) })
	for i, d := range found.Datasets {
		proof, err := p.dataset(ctx, d, filepath.Join(dir.Path, fmt.Sprint(i)))
		if err != nil {
			return nil, err
		}
		p.add(&proof)
	}
	for _, problem := range found.Problems {
		p.add(&Proof{Name: ".", Damage: problem})
	}
	for i := range found.Receipts {
		if err := p.receipt(ctx, &found.Receipts[i]); err != nil {
			return nil, err
		}
	}
	p.out.Equal = p.out.computed() > 0 && !slices.ContainsFunc(p.out.Proofs, (*Proof).wrong)
	return p.out, nil
}

func (p *prover) add(proof *Proof) { p.out.Proofs = append(p.out.Proofs, proof) }

// depth returns how many of the datasets found are above one, in the longest line.
func (p *prover) depth(d *dataset.Dataset) (n int) {
	for _, r := range d.Inputs {
		for _, in := range p.found.Datasets {
			if in.Is(&r) {
				n = max(n, 1+p.depth(in))
			}
		}
	}
	return n
}

// name returns a URI relative to the one that is proved, without a store's parameters.
func (p *prover) name(uri string) string {
	root, _, _ := strings.Cut(p.found.Root, "?")
	at, _, _ := strings.Cut(uri, "?")
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(at, strings.TrimSuffix(root, "/")), "/"), ".")
}
