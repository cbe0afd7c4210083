package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/history"
)

type datasetModel struct {
	Frame
	*catalogue.Entry
	Dataset *dataset.Dataset // nil of a receipt
	Receipt *receipts.Receipt
	HasRows bool // has trajectories, of its own or of its base
	Inputs  []input
}

// input is a dataset that another was made from.
type input struct {
	manifest.Ref
	Of *catalogue.Entry // nil outside the run
}

func (s *Server) datasetPage(r *http.Request) (any, error) {
	f, err := s.find(r)
	if err != nil {
		return nil, err
	}
	trail := s.trailOf(f)
	m := &datasetModel{Frame: Frame{Title: f.Key, Trail: trail[:len(trail)-1]}, Entry: f}
	if f.Receipt && !f.Complete {
		m.Receipt, err = history.ReadReceipt(r.Context(), f.URI)
		return m, err
	}
	if f.Live() {
		return nil, elsewhere(linkOf(f))
	}
	d, err := s.open(r.Context(), f)
	if err != nil {
		return nil, err
	}
	m.Dataset = d
	m.HasRows = slices.Contains([]schema.Kind{schema.KindTrajectories, schema.KindScores, schema.KindGroups}, d.Kind)
	for _, ref := range d.Inputs {
		m.Inputs = append(m.Inputs, input{ref, s.datasets.Input(f.Key, ref)})
	}
	return m, nil
}

// asJSON returns a parameter or a figure as JSON.
func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// find returns the dataset that a request names.
func (s *Server) find(r *http.Request) (*catalogue.Entry, error) {
	return s.lookup(r.Context(), segment(r, "key"))
}

// lookup returns the dataset with a key. Only what the listing found has one.
func (s *Server) lookup(ctx context.Context, key string) (*catalogue.Entry, error) {
	if f := s.datasets.Complete(ctx, key); f != nil {
		return f, nil
	}
	l, err := s.datasets.List(ctx)
	if err != nil {
		return nil, err
	}
	if f := l.ByKey[key]; f != nil {
		return f, nil
	}
	return nil, missing("no dataset %q in this run", key)
}

// opened returns the dataset of a request, open. Of one that is not complete it is what
// the journal has of the request's group or trajectory. A gate's refusal does not keep it
// closed. Its manifest is read once.
func (s *Server) opened(r *http.Request) (*catalogue.Entry, *dataset.Dataset, error) {
	f, err := s.find(r)
	if err != nil {
		return nil, nil, err
	}
	if f.Live() {
		d, err := s.underway(r, f)
		return f, d, err
	}
	d, err := s.open(r.Context(), f)
	return f, d, err
}

// found is what was read, or what is wrong with it.
type found[T any] struct {
	is  T
	err error
}

func (s *Server) open(ctx context.Context, f *catalogue.Entry) (*dataset.Dataset, error) {
	if !f.Complete { // opening it could write its manifest, which is the writer's business
		return nil, missing("%s is not complete", f.Key)
	}
	o, err := s.openings.Of(f.At(), func() (found[*dataset.Dataset], error) {
		d, err := dataset.Open(ctx, f.URI, dataset.OpenOptions{IgnoreGates: true})
		if err != nil && statusOf(err) != http.StatusUnprocessableEntity {
			return found[*dataset.Dataset]{}, err // the next request reads again
		}
		return found[*dataset.Dataset]{d, err}, nil
	})
	return o.is, cmp.Or(err, o.err)
}

// openAll reads the manifests of complete datasets at once, so that opening them costs
// nothing afterwards. What is wrong with one is for whoever opens it.
func (s *Server) openAll(ctx context.Context, found []*catalogue.Entry) error {
	var all sync.WaitGroup
	for _, f := range found {
		if f.Complete {
			all.Go(func() { _, _ = s.open(ctx, f) })
		}
	}
	all.Wait()
	return ctx.Err()
}
