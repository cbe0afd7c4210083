package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

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
		return nil, elsewhere(f.Link())
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
