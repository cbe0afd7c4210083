package settings

import (
	"cmp"
	"context"
	"errors"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/history"
	layout "github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
)

// RunPlace names the run and its folder.
type RunPlace struct {
	Run, Root string

	Heading string // default plugin.Output
	Usage   string // help of --run; default that of rollout
}

func (p *RunPlace) Declare(d *plugin.Declarer) {
	d.Heading(cmp.Or(p.Heading, plugin.Output))
	d.String(&p.Run, "run", cmp.Or(p.Usage, "name the run `NAME`, which is part of every trajectory id")).
		DefaultShown("the last part of --root, else run").WrittenToRows()
	d.String(&p.Root, "root", "use the run's folder at this `URI`, which holds epoch-0, epoch-1, ...").DefaultShown("runs/<run>").
		WrittenToRows().Common()
}

// Layout returns the URIs of the run's datasets.
func (p *RunPlace) Layout() layout.Layout {
	_, root := p.Both()
	return layout.Layout{Root: root}
}

// Known returns the policy of the receipt at a URI, else the one that the run had
// before the given epoch: if the run began with a receipt (submit --prepare), the
// previous epoch must have left one. It returns nil if there is none.
func (p *RunPlace) Known(ctx context.Context, uri string, epoch *int) (*receipts.Policy, error) {
	if uri != "" || epoch == nil {
		return Policy(ctx, uri)
	}
	first, err := ReceiptAt(ctx, p.Layout().Policy())
	if errors.Is(err, storage.ErrNotExist) {
		return nil, nil
	}
	if err != nil || first.Policy == nil {
		return nil, err
	}
	return Policy(ctx, p.Layout().Sampled(*epoch))
}

// Curated returns the curated dataset of an epoch: the last one, if its plan was made.
func (p *RunPlace) Curated(ctx context.Context, epoch int) (string, error) {
	dir, err := history.Last(ctx, p.Layout().Epoch(epoch), "curate")
	return storage.Join(dir, "curate"), err
}

// LastInput returns the dataset that is named, else what a stage reads in the last refill of the
// epoch that is named: what trained.
func (p *RunPlace) LastInput(ctx context.Context, s *cli.Session, in Source, epoch *int) (stages.Input, error) {
	if in.URI == "" && epoch != nil {
		dir, name := storage.Split(p.Layout().Input(*epoch, s.Command, false))
		dir, err := history.Last(ctx, dir, name)
		if err != nil {
			return stages.Input{}, err
		}
		in.URI = storage.Join(dir, name)
	}
	return in.Open(s)
}

// Folder returns the run's folder, which a command must name: its synopsis is the hint.
func (p *RunPlace) Folder(synopsis string) (string, error) {
	if p.Run == "" && p.Root == "" {
		return "", cli.Usagef("name the run's folder: rollmill "+synopsis, "no run")
	}
	_, root := p.Both()
	return root, nil
}

// Both returns the run's name and folder; each defaults to a value derived from the other.
func (p *RunPlace) Both() (run, root string) {
	run = p.Run
	if run == "" && p.Root != "" {
		_, run = storage.Split(p.Root)
	}
	run = cmp.Or(run, "run")
	return run, cmp.Or(p.Root, storage.Join("runs", run))
}
