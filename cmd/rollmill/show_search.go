package main

import (
	"cmp"
	"context"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/search"
	"github.com/rollmill/rollmill/storage"
)

// search lists the trajectories in which a pattern is found, also those that were found before an interrupt.
func (o *showSettings) search(ctx context.Context, s *cli.Session, uri string) error {
	pattern, err := search.NewPattern(o.Search, o.SearchRegexp)
	if err != nil {
		return err
	}
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return err
	}
	list, err := (&catalogue.Catalogue{Root: uri, Bucket: b}).List(ctx)
	if err != nil {
		return err
	}
	r, ended := search.Run(ctx, list.Entries, search.Options{Pattern: pattern, Limit: o.Limit,
		Open: func(ctx context.Context, f *catalogue.Entry) (*dataset.Dataset, error) {
			return dataset.Open(ctx, f.URI, dataset.OpenOptions{IgnoreGates: true})
		},
		Report: func(r *search.Result, _ *search.Hit) {
			if r.Bytes > search.Much && r.Searched == 0 {
				s.Say("show: the search reads up to %s", plural.Bytes(r.Bytes))
			}
		}})
	err = s.Page(r, r.WriteText, styleOf)
	if ended == nil && err == nil && r.Partial {
		return cli.Exit{Code: cli.ExitInput, What: "some datasets were not searched, or not whole"}
	}
	return cmp.Or(ended, err)
}
