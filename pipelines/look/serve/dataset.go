package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/show"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

type datasetModel struct {
	Frame
	*catalogue.Entry
	Dataset *dataset.Dataset // nil of a receipt
	Receipt *receipts.Receipt
	HasRows bool // has trajectories, of its own or of its base
	Inputs  []input
	View    show.View
	Tiles   []history.Tile
	SumURL  string // of the page that reads all rows, if this one does not
}

// maxSummed is how many rows a dataset's page reads unless it is asked to.
const maxSummed = 200_000

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
	sum := m.HasRows && (d.Rows <= maxSummed || r.FormValue("all") != "")
	if m.HasRows && !sum {
		m.SumURL = page.Link("d", f.Key) + "?all=1"
	}
	m.View, err = s.views.Of(fmt.Sprint(d.Ref("", "").Digest, sum), func() (show.View, error) { return show.Describe(r.Context(), d, sum) })
	if err == nil && sum {
		m.tiles(m.View.Summary)
	}
	return m, err
}

// tiles adds the means of the columns that all lists show.
func (m *datasetModel) tiles(s *show.Summary) {
	for _, t := range []struct {
		name string
		of   show.Spread
	}{{"Reward", s.Reward}, {"Advantage", s.Advantage}, {"Sampled tokens", s.Sampled}, {"Prompt tokens", s.Prompt}} {
		if t.of.Count > 0 {
			value, rest, _ := strings.Cut(t.of.String(), ", ")
			m.Tiles = append(m.Tiles, history.Tile{Name: t.name, Value: value, Note: fmt.Sprintf("%s; %s of %s rows have one", rest,
				text.Thousands(t.of.Count), text.Thousands(m.Dataset.Rows))})
		}
	}
}

// asJSON returns a parameter as JSON, and a figure with six digits.
func asJSON(value any) string {
	if v, is := value.(float64); is {
		return text.Exact(&v)
	}
	return text.JSON(value)
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
		group, id := segment(r, "group"), segment(r, "id")
		if group+id == "" {
			return nil, nil, elsewhere(linkOf(f))
		}
		d, err := s.snapshot(r.Context(), f, group, id)
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
