// Package show reads what one dataset holds for people: its manifest, some of its rows, joined
// with its base, and what all of them add up to. It changes nothing.
//
// To show another kind of row, add the columns worth seeing to usual in selection.go.
package show

import (
	"context"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/schema"
)

// Options select what to show.
type Options struct {
	Table string // "" for the main one
	First int64  // row to begin with, from 0
	Rows  int    // maximum number of rows; 0 for none

	Failed bool // only rows whose status is failed

	Columns []string // to show, in this order, or "all"; empty for the usual ones
	Where   string   // only rows for which this expression is true; "": all

	Sort string // expression to sort by, nulls last; "": the order of the dataset
	Desc bool   // largest first

	Summary bool // read what the rows add up to
}

// View is what show prints of a dataset.
type View struct {
	URI      string            `json:"uri"`
	Groups   *GroupSizes       `json:"groups,omitempty"` // of a group dataset
	Manifest manifest.Manifest `json:"manifest"`
	Table    string            `json:"table,omitempty"`
	Columns  []string          `json:"columns"` // of the dataset's own rows
	First    int64             `json:"first"`
	Rows     []Row             `json:"rows"`
	Summary  *Summary          `json:"summary,omitempty"` // if it was asked for
}

// Show reads the dataset at a URI, even if a gate refused it.
func Show(ctx context.Context, uri string, o Options) (View, error) {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		return View{}, err
	}
	v, err := Describe(ctx, d, o.Summary)
	if err != nil {
		return v, err
	}
	v.Table, v.First = o.Table, o.First
	err = eachSelected(ctx, d, o, func(row Row) error {
		v.Rows = append(v.Rows, row)
		return nil
	})
	return v, err
}

// Describe reads what there is to say of a dataset besides single rows.
func Describe(ctx context.Context, d *dataset.Dataset, summary bool) (v View, err error) {
	v.URI, v.Manifest = d.URI(), d.Manifest
	if v.Groups, err = groupSizes(ctx, d); err != nil {
		return v, err
	}
	if v.Columns, err = d.ColumnNames(ctx); err == nil && summary {
		v.Summary, err = summarized(ctx, d)
	}
	return v, err
}

// Raw calls f with each selected row of the dataset at a URI. It holds one row at a
// time.
func Raw(ctx context.Context, uri string, o Options, f func(Row) error) error {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		return err
	}
	return eachSelected(ctx, d, o, f)
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
	if _, ok := d.Tables[schema.TableGroups]; !ok || d.Kind != schema.KindGroups {
		return nil, nil
	}
	g := &GroupSizes{}
	for s, err := range dataset.Each[formats.GroupStats](ctx, d, schema.TableGroups, d.AllOf(schema.TableGroups)) {
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
