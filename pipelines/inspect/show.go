package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
)

// Options select what to show.
type Options struct {
	Table string // "" for the main one
	First int64  // row to begin with, from 0
	Rows  int    // maximum number of rows; 0 for none

	Failed bool // only rows whose status is failed

	Columns []string // to show, in this order, or "all"; empty for the usual ones
}

// View is what show prints of a dataset.
type View struct {
	URI      string           `json:"uri"`
	Groups   *GroupSizes      `json:"groups,omitempty"` // of a group dataset
	Manifest dataset.Manifest `json:"manifest"`
	Table    string           `json:"table,omitempty"`
	First    int64            `json:"first"`
	Rows     []Row            `json:"rows"`
}

// Show reads the dataset at a URI, even if a gate refused it.
func Show(ctx context.Context, uri string, o Options) (View, error) {
	d, err := openAny(ctx, uri)
	if err != nil {
		return View{}, err
	}
	v := View{URI: d.URI(), Manifest: d.Manifest, Table: o.Table, First: o.First}
	total := d.Manifest.Rows
	if o.Table != "" {
		total = d.Tables[o.Table].Rows
	}
	if o.First < 0 || o.First > total {
		return v, formats.Invalid(d.URI(), "rows count from 0", nil, "row %d is not among its %d", o.First, total)
	}
	if v.Groups, err = groupSizes(ctx, d); err != nil {
		return v, err
	}
	v.Rows, err = readRows(ctx, d, o, total)
	return v, err
}

// GroupSizes is the number of groups and the range of their sizes.
type GroupSizes struct {
	Groups   int64 `json:"groups"`
	Smallest int32 `json:"smallest"`
	Largest  int32 `json:"largest"`
}

// String returns "6 groups of 8", or "6 groups of 7 to 8".
func (g *GroupSizes) String() string {
	text := fmt.Sprintf("%s of %d", plural.Of(g.Groups, "group"), g.Smallest)
	if g.Largest > g.Smallest {
		text += fmt.Sprintf(" to %d", g.Largest)
	}
	return text
}

// groupSizes reads the sizes of the groups of a group dataset. It returns nil for
// other datasets.
func groupSizes(ctx context.Context, d *dataset.Dataset) (*GroupSizes, error) {
	if _, ok := d.Tables[formats.TableGroups]; !ok || d.Kind != formats.KindGroups {
		return nil, nil
	}
	g := &GroupSizes{}
	type size struct {
		Count int32 `parquet:"count,delta"`
	}
	for s, err := range dataset.Each[size](ctx, d, formats.TableGroups, allOf(d, formats.TableGroups)) {
		if err != nil {
			return nil, err
		}
		if g.Groups++; g.Groups == 1 {
			g.Smallest = s.Count
		}
		g.Smallest, g.Largest = min(g.Smallest, s.Count), max(g.Largest, s.Count)
	}
	return g, nil
}

func openAny(ctx context.Context, uri string) (*dataset.Dataset, error) {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	var gate *dataset.GateError
	if !errors.As(err, &gate) {
		return d, err
	}
	var accept []string
	for _, g := range gate.Gates {
		accept = append(accept, g.Name)
	}
	return dataset.Open(ctx, uri, dataset.OpenOptions{AcceptGates: accept})
}
