package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/funnel"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/storage/fault"
)

type epochModel struct {
	Frame
	history.Epoch
	Datasets   []*catalogue.Entry
	Written    map[string]time.Time // by key: when the datasets were complete, and the submission ended, if it is known
	Tiles      []history.Tile
	Components []history.Tile
	Problems   []string
	Funnel     funnel.Funnel
	Stops      []page.Counted
	Groups     page.GroupLists
}

// number returns the epoch that a request names.
func number(r *http.Request) (int, error) {
	e, err := strconv.Atoi(r.PathValue("epoch"))
	if err != nil || e < 0 {
		return 0, missing("no epoch %q: it is not a number", r.PathValue("epoch"))
	}
	return e, nil
}

func (s *Server) epochPage(r *http.Request) (any, error) {
	e, err := number(r)
	if err != nil {
		return nil, err
	}
	l, err := s.scope(r)
	if err != nil {
		return nil, err
	}
	m := &epochModel{Frame: Frame{Title: fmt.Sprintf("Epoch %d", e), Trail: s.trail(l.Run)}}
	all := l.Epochs()
	if m.Datasets = all[e]; m.Datasets == nil {
		return nil, missing("no epoch %d in this run", e)
	}
	if e > 0 && all[e-1] != nil {
		m.Prev = epochLink(l.Run, e-1)
	}
	if all[e+1] != nil {
		m.Next = epochLink(l.Run, e+1)
	}
	known, err := s.recorded(r.Context(), l)
	if err != nil && !errors.Is(err, fault.ErrInvalid) {
		return nil, err
	}
	if err := s.openAll(r.Context(), m.Datasets); err != nil {
		return nil, err
	}
	if m.Epoch, _, err = s.current(r.Context(), all[e], known[e], e); errors.Is(err, fault.ErrInvalid) {
		m.Epoch = known[e] // read names the file
	} else if err != nil {
		return nil, err
	}
	run := history.Run{Epochs: []history.Epoch{m.Epoch}}
	run.Price(s.prices)
	m.Tiles, m.Components = history.Tiles(run), history.Components(run.Epochs)
	m.Epoch.Epoch = e
	if err := m.read(r.Context(), s, catalogue.Finished(all[e])); err != nil || e == 0 {
		return m, err
	}
	return m, m.compareTasks(r.Context(), s, catalogue.Finished(all[e-1])["rollout"], catalogue.Finished(all[e])["rollout"])
}

// compareTasks adds that tasks changed under the same ids since the epoch before.
func (m *epochModel) compareTasks(ctx context.Context, s *Server, before, now *catalogue.Entry) error {
	if before == nil || now == nil {
		return nil
	}
	var both []*dataset.Dataset
	for _, f := range []*catalogue.Entry{before, now} {
		d, err := s.open(ctx, f)
		if err != nil {
			return nil // read says why
		}
		both = append(both, d)
	}
	compare := func() ([]string, error) { return history.ChangedTasks(ctx, both) }
	changed, err := s.tasks.Of(both[0].Ref("", "").Digest+both[1].Ref("", "").Digest, compare)
	if err == nil && changed[1] != "" {
		m.Problems = append(m.Problems, changed[1])
	}
	return err
}

// read adds what the datasets that are counted hold beyond their counts.
func (m *epochModel) read(ctx context.Context, s *Server, stages map[string]*catalogue.Entry) error {
	of := map[*catalogue.Entry]*dataset.Dataset{}
	m.Written = map[string]time.Time{}
	for _, f := range m.Datasets {
		if !f.Complete {
			continue
		}
		d, err := s.open(ctx, f)
		if err != nil {
			m.Problems = append(m.Problems, err.Error())
			continue
		}
		of[f], m.Written[f.Key] = d, d.Written
		for _, g := range d.Refusals() {
			m.Problems = append(m.Problems, fmt.Sprintf("%s: gate %s refused it (value %.4g)", f.Stage, g.Name, g.Value))
		}
	}
	var err error
	if d := of[stages["rollout"]]; d != nil {
		count := func() ([]page.Counted, error) { return countStops(ctx, d) }
		if m.Stops, err = s.stops.Of(d.Ref("", "").Digest, count); err != nil {
			return err
		}
	}
	if d := of[stages["group"]]; d != nil {
		m.Groups.Key = stages["group"].Key
		s.indexes.Begin(d) // its lists are usually next
		read := func() ([]*history.GroupList, error) { return history.GroupLists(ctx, d) }
		if m.Groups.Lists, err = s.lists.Of(d.Ref("", "").Digest, read); err != nil {
			return err
		}
	}
	m.Receipt = nil // which the report may have of another submission
	if f := stages["submit"]; f != nil && f.Receipt {
		if m.Receipt, err = history.ReadReceipt(ctx, f.URI); err != nil {
			m.Problems = append(m.Problems, err.Error())
		} else if m.Receipt != nil && m.Receipt.FinishedAt != nil {
			m.Written[f.Key] = *m.Receipt.FinishedAt
		}
	}
	m.Funnel = history.Run{Epochs: []history.Epoch{m.Epoch}}.AddUp()
	return nil
}

// countStops counts a rollout's trajectories by the reason of their end.
func countStops(ctx context.Context, d *dataset.Dataset) ([]page.Counted, error) {
	n := map[string]int64{}
	for r, err := range query.Rows(ctx, d, query.Query{}, "stop_reason") {
		if err != nil {
			return nil, err
		}
		n[r.StopReason]++
	}
	return page.Sorted(n), nil
}
