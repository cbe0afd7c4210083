package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats"
	layout "github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/storage"
)

// RunDifference compares two score datasets of each epoch of a run.
type RunDifference struct {
	Root   string            `json:"root"`
	A      string            `json:"a"` // the folder in each epoch
	B      string            `json:"b"`
	Epochs []EpochDifference `json:"epochs"`
	All    *Difference       `json:"all"`              // of all epochs; it numbers no rows
	Absent []int             `json:"absent,omitempty"` // epochs that have not both
}

// EpochDifference is the change in one epoch.
type EpochDifference struct {
	Epoch int `json:"epoch"`
	*Difference
}

// DiffRun compares the datasets that have the names A and B in each of some epochs.
// An epoch that cannot be compared does not stop the others; the error names it. It keeps two numbers per row in
// memory.
func DiffRun(ctx context.Context, root string, epochs []int, o DiffOptions) (*RunDifference, error) {
	r := &RunDifference{Root: storage.Redact(root), A: o.A, B: o.B, All: o.begin()}
	var failed []error
	for _, e := range epochs {
		of, dir := o, layout.Layout{Root: root}.Epoch(e)
		of.A, of.B = storage.Join(dir, o.A), storage.Join(dir, o.B)
		d, err := Diff(ctx, of)
		switch {
		case ctx.Err() != nil:
			return nil, err
		case errors.Is(err, storage.ErrNotExist):
			r.Absent = append(r.Absent, e)
		case err != nil:
			failed = append(failed, fmt.Errorf("epoch %d: %w", e, err))
		default:
			r.All.add(d, o.Movers)
			d.points, d.ends = nil, nil
			r.Epochs = append(r.Epochs, EpochDifference{e, d})
		}
	}
	r.All.sums()
	if len(r.Epochs) > 0 || failed != nil {
		return r, errors.Join(failed...)
	}
	return nil, formats.Invalid(r.Root, "name folders of an epoch, such as score; score --epochs --as NAME makes another",
		storage.ErrNotExist, "no epoch has both %q and %q", r.A, r.B)
}

// counts are the fields that are sums over rows or groups.
func (d *Difference) counts() []*int64 {
	return []*int64{&d.Rows, &d.Compared, &d.Moved, &d.Up, &d.Down, &d.Gained, &d.Lost, &d.Neither, &d.Groups, &d.FlatA,
		&d.FlatB, &d.BecameFlat, &d.StoppedFlat, &d.SignFlipped, &d.SignToZero, &d.SignFrom0, &d.SolvedA, &d.SolvedB,
		&d.Flipped}
}

// add adds a difference over other rows. The numbers of rows are not kept.
func (d *Difference) add(o *Difference, movers int) {
	counts := d.counts()
	for i, n := range o.counts() {
		*counts[i] += *n
	}
	for why, n := range o.LostTo {
		d.LostTo[why] += n
	}
	for _, m := range o.Movers {
		d.mover(m, movers)
	}
	d.Flips = append(d.Flips, o.Flips[:min(len(o.Flips), movers-len(d.Flips))]...)
	for _, end := range o.ends {
		d.ends = append(d.ends, len(d.points)+end)
	}
	d.points = append(d.points, o.points...)
}

// WriteText writes a line for each epoch, and one for all.
func (r *RunDifference) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "epoch\tcompared\t%s\t%s\tchange\tmoved\tup\tdown\tlost\tflat\tsolved\tflipped\tsigns\n",
		Line(r.A), Line(r.B))
	line := func(name string, d *Difference) {
		fmt.Fprintf(out, "%s\t%d\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d -> %d\t%d -> %d\t%d\t%d\n", name, d.Compared, float(d.MeanA),
			float(d.MeanB), d.change(), d.Moved, d.Up, d.Down, d.Lost, d.FlatA, d.FlatB, d.SolvedA, d.SolvedB, d.Flipped,
			d.SignFlipped)
	}
	for _, e := range r.Epochs {
		line(fmt.Sprint(e.Epoch), e.Difference)
	}
	line("all", r.All)
	if len(r.All.Flips) > 0 {
		fmt.Fprintf(out, "\n%d of %d flipped examples, with their best rewards:\nepoch\texample\t%s\t%s\n", len(r.All.Flips),
			r.All.Flipped, Line(r.A), Line(r.B))
	}
	for _, f := range r.All.Flips {
		fmt.Fprintf(out, "%d\t%s\t%.4g\t%.4g\n", f.Epoch, short(f.ExampleID), f.A, f.B)
	}
	if len(r.All.Movers) > 0 {
		fmt.Fprintf(out, "\nepoch\trow\texample\tgeneration\t%s\t%s\tanswer\n", Line(r.A), Line(r.B))
	}
	for _, m := range r.All.Movers {
		fmt.Fprintf(out, "%d\t%d\t%s\t%d\t%.4g\t%.4g\t%s\n", m.Epoch, m.Row, short(m.ExampleID), m.Generation, m.A, m.B,
			short(m.Answer))
	}
	for _, why := range slices.Sorted(maps.Keys(r.All.LostTo)) {
		fmt.Fprintf(out, "lost to %s\t%d\n", Line(why), r.All.LostTo[why])
	}
	if len(r.Absent) > 0 {
		fmt.Fprintf(out, "\nnot in both: epoch %s\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Absent), " ", ", "), "[]"))
	}
	return out.Flush()
}
