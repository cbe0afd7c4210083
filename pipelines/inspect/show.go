package inspect

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// Options say what to show.
type Options struct {
	Table string // "" for the main one
	First int64  // row to begin with, from 0
	Rows  int    // at most so many; 0 for none

	Failed bool // only rows whose status is failed
}

// View is a dataset as a person looks at it.
type View struct {
	URI      string           `json:"uri"`
	Manifest dataset.Manifest `json:"manifest"`
	Table    string           `json:"table,omitempty"`
	First    int64            `json:"first"`
	Rows     any              `json:"rows,omitempty"` // a list: the row's number and its light columns
}

// Show reads the dataset at a URI, also one that a gate refused.
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
	v.Rows, err = readRows(ctx, d, o, total)
	return v, err
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
