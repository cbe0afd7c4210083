package query

import (
	"context"
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/joined"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// Sources are the datasets that an index is read from. Those beside the one that the
// user named are nil if they do not exist.
type Sources struct {
	Rows      *dataset.Dataset // as named
	Base      *dataset.Dataset // its wide rows; the same for a wide dataset
	Scores    *dataset.Dataset // aligned with Base
	Members   *dataset.Dataset // of group; aligned with Base
	Decisions *dataset.Dataset // of curate; the same as Rows for a curated one

	Part *dataset.Range // of the rows; nil: all

	Problems []string // datasets beside it that could not be opened, with the reason
}

func (s *Sources) rows() dataset.Range {
	if s.Part != nil {
		return *s.Part
	}
	return s.Base.All()
}

// alone returns a dataset with its base.
func alone(ctx context.Context, d *dataset.Dataset) (*Sources, error) {
	whole, err := joined.Of(ctx, d)
	if err != nil {
		return nil, err
	}
	s := &Sources{Rows: d, Base: whole.Base}
	switch d.Kind {
	case schema.KindGroups:
		s.Members = d
	case schema.KindScores:
		s.Scores = d
	}
	return s, nil
}

// SourcesOf returns a dataset with its base and with what was made of it in the same
// folder: scores, groups and decisions. It reads a manifest for each.
func SourcesOf(ctx context.Context, d *dataset.Dataset) (*Sources, error) {
	s, err := alone(ctx, d)
	if err != nil {
		return nil, err
	}
	if hasDecisions(d) {
		s.Decisions = d
		return s, nil
	}
	if s.Members == nil {
		s.Members, err = s.sibling(ctx, "group", s.madeOf)
	}
	if err == nil && s.Members == nil && s.Scores == nil {
		s.Scores, err = s.sibling(ctx, "score", s.madeOf)
	}
	if err == nil {
		s.Decisions, err = s.sibling(ctx, "curate", func(c *dataset.Dataset) bool {
			return hasDecisions(c) && s.madeOf(c)
		})
	}
	return s, err
}

func hasDecisions(d *dataset.Dataset) bool {
	_, has := d.Tables[schema.TableDecisions]
	return has
}

// madeOf reports whether a dataset was made from the named one, or from what was made
// of it and is known already. Thin rows that are aligned with the named wide ones were.
func (s *Sources) madeOf(d *dataset.Dataset) bool {
	if d.Kind != schema.KindTrajectories {
		if d.Rows != s.Base.Rows || !s.Base.Is(d.Base) {
			return false
		}
		if s.Rows == s.Base {
			return true
		}
	}
	return slices.ContainsFunc([]*dataset.Dataset{s.Rows, s.Members, s.Scores}, func(from *dataset.Dataset) bool {
		return from != nil && slices.ContainsFunc(d.Inputs, func(r manifest.Ref) bool { return from.Is(&r) })
	})
}

// sibling opens a dataset in the folder of the named one, nil if there is none.
func (s *Sources) sibling(ctx context.Context, name string, is func(*dataset.Dataset) bool) (*dataset.Dataset, error) {
	folder, _ := storage.Split(s.Rows.URI())
	if folder == "" {
		return nil, nil
	}
	d, err := dataset.Open(ctx, storage.Join(folder, name), dataset.OpenOptions{IgnoreGates: true})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, storage.ErrNotExist):
		return nil, nil
	case err != nil:
		s.Problems = append(s.Problems, err.Error())
		return nil, nil
	case !is(d):
		return nil, nil
	}
	return d, nil
}

// Failure returns the traceback of an agent or a reward whose error is a row's, "" if
// none was kept.
func (s *Sources) Failure(ctx context.Context, message string) (string, error) {
	for _, d := range []*dataset.Dataset{s.Base, s.Scores} {
		if d == nil {
			continue
		}
		if text, err := d.Failure(ctx, message); err != nil || text != "" {
			return text, err
		}
	}
	return "", nil
}
