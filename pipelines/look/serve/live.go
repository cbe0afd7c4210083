package serve

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/live"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/storage"
)

// journal returns what was read of the journals of a dataset.
func (s *Server) journal(f *catalogue.Entry) *live.Journal {
	j, _ := s.journals.Of(f.Key, func() (*live.Journal, error) { return &live.Journal{}, nil })
	return j
}

type liveModel struct {
	Frame
	*catalogue.Entry
	Self     string // URL of the page, with its filter
	Poll     string // how often the page asks; "" when the dataset is complete
	Tiles    []history.Tile
	Failures []page.Counted
	Stops    []page.Counted
	Attempts []*live.Attempt // the newest first
	Of       int             // attempts that match
	Class    string
	Stop     string
	Page     int
	Newer    string
	Older    string
}

// attemptsPage is how many attempts a page shows.
const attemptsPage = 50

func (s *Server) livePage(r *http.Request) (any, error) {
	f, err := s.liveDataset(r)
	if err != nil {
		return nil, err
	}
	trail := s.trailOf(f)
	m := &liveModel{Frame: Frame{Title: f.Key + ", under way", Trail: trail[:len(trail)-1]}, Entry: f}
	m.Class, m.Stop = r.FormValue("class"), r.FormValue("stop")
	if m.Page, err = countOf(r, "page"); err != nil {
		return nil, err
	}
	m.Self = m.URL(m.Class, m.Stop, m.Page)
	if f.Complete {
		return m, nil
	}
	m.Poll = "every 2s"
	if _, local := s.bucket.Local(); !local {
		m.Poll = "every 5s"
	}
	j := s.journal(f)
	if err := j.Refresh(r.Context(), f.URI); errors.Is(err, storage.ErrNotExist) { // the rollout ended
		s.datasets.Forget()
		return nil, elsewhere(m.Self)
	} else if err != nil {
		return nil, err
	}
	j.Mu.Lock()
	defer j.Mu.Unlock()
	m.fill(j, s.prices, time.Now())
	return m, nil
}

// liveDataset returns the dataset that a request names by its key, or by an epoch
// whose rollout it is.
func (s *Server) liveDataset(r *http.Request) (*catalogue.Entry, error) {
	if r.PathValue("epoch") == "" {
		return s.find(r)
	}
	e, err := number(r)
	if err != nil {
		return nil, err
	}
	l, err := s.scope(r)
	if err != nil {
		return nil, err
	}
	found := l.Epochs()[e]
	if at := slices.IndexFunc(found, (*catalogue.Entry).Live); at >= 0 {
		return found[at], nil
	}
	if f := l.Rollout(e); f != nil {
		return f, nil
	}
	return nil, missing("epoch %d has no rollout", e)
}

// URL returns the address of the page with another filter.
func (m *liveModel) URL(class, stop string, number int) string {
	return page.WithQuery(page.Link("d", m.Key, "live"), "class", class, "stop", stop, "page", number)
}

// fill adds what the journal holds.
func (m *liveModel) fill(j *live.Journal, p history.Prices, now time.Time) {
	all := j.Totals()
	m.Failures, m.Stops = page.Sorted(all.Classes), page.Sorted(all.Stops)
	m.Tiles = j.Tiles(p, now)
	var match []*live.Attempt
	for _, a := range slices.Backward(j.Attempts) {
		if (m.Class == "" || a.FailureClass == m.Class) && (m.Stop == "" || a.StopReason == m.Stop) {
			match = append(match, a)
		}
	}
	m.Of = len(match)
	first := min(m.Page*attemptsPage, m.Of)
	end := min(first+attemptsPage, m.Of)
	m.Attempts = match[first:end]
	if m.Page > 0 {
		m.Newer = m.URL(m.Class, m.Stop, m.Page-1)
	}
	if end < m.Of {
		m.Older = m.URL(m.Class, m.Stop, m.Page+1)
	}
}
