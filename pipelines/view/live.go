package view

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/storage"
)

// Attempt is a journalled trajectory without its payload.
type Attempt struct {
	TrajectoryID     string `parquet:"trajectory_id"`
	ExampleID        string `parquet:"example_id,dict"`
	Epoch            int32  `parquet:"epoch,delta"`
	Generation       int32  `parquet:"generation,delta"`
	Status           string `parquet:"status,dict"`
	StopReason       string `parquet:"stop_reason,dict"`
	FailureClass     string `parquet:"failure_class,optional,dict"`
	PromptTokens     int32  `parquet:"prompt_tokens,delta"`
	CompletionTokens int32  `parquet:"completion_tokens,delta"`
	StartedAt        int64  `parquet:"started_at,optional,timestamp(microsecond),delta"`
	FinishedAt       int64  `parquet:"finished_at,optional,timestamp(microsecond),delta"`

	segment seal.Segment
	row     int
}

// Seconds returns how long it took.
func (a *Attempt) Seconds() float64 {
	return time.Duration(1000 * (a.FinishedAt - a.StartedAt)).Seconds()
}

// maxAttempts is how many journalled attempts are kept; of more, only the totals.
const maxAttempts = 200_000

// journal is what was read of the journals of a dataset. Segments never change, so
// each is read once.
type journal struct {
	mu sync.Mutex
	journalled
}

// journalled is what a journal has of the rows of one identity.
type journalled struct {
	read     map[string]bool // segments and finished shards, by name
	expected map[int]int64   // rows of a shard
	attempts []*Attempt      // of segments, as they were written
	at       map[string]int  // of a trajectory in attempts
	segments totals
	parts    totals // of finished shards
	under    *seal.Underway
}

// totals adds up attempts.
type totals struct {
	Rows, Failed, Prompt, Completion int64
	Classes, Stops                   map[string]int64
}

func (t *totals) add(a *Attempt, sign int64) {
	if t.Classes == nil {
		t.Classes, t.Stops = map[string]int64{}, map[string]int64{}
	}
	t.Rows += sign
	t.Stops[a.StopReason] += sign
	if a.Status == outcomes.StatusFailed {
		t.Failed += sign
		t.Classes[a.FailureClass] += sign
	}
}

// refresh reads what is new in the journals of a dataset.
func (j *journal) refresh(ctx context.Context, uri string) error {
	under, err := seal.LookUnderway(ctx, uri)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.read == nil || j.under != nil && j.under.Name != under.Name { // another rollout replaces it
		j.journalled = journalled{read: map[string]bool{}, expected: map[int]int64{}, at: map[string]int{},
			parts: totals{Classes: map[string]int64{}}}
	}
	j.under = under
	for _, s := range under.Segments {
		if j.read[s.Name] {
			continue
		}
		rows, err := seal.ReadSegment[Attempt](ctx, under, s)
		if err != nil {
			return err
		}
		if _, known := j.expected[s.Shard]; !known {
			if j.expected[s.Shard], err = under.Expected(ctx, s); err != nil {
				return err
			}
		}
		j.read[s.Name] = true
		for i := range rows {
			rows[i].segment, rows[i].row = s, i
			j.add(&rows[i])
		}
	}
	for _, f := range under.Finished {
		name := fmt.Sprintf("shard %d", f.Shard)
		if j.read[name] {
			continue
		}
		m, err := under.Record(ctx, f)
		if err != nil {
			return err
		}
		j.read[name] = true
		j.expected[f.Shard] = m.Rows
		j.parts.Rows, j.parts.Failed = j.parts.Rows+m.Rows, j.parts.Failed+m.Counts[outcomes.StatusFailed]
		j.parts.Prompt += int64(m.Facts["prompt_tokens"])
		j.parts.Completion += int64(m.Facts["completion_tokens"])
		add(j.parts.Classes, m.Failures)
	}
	return nil
}

// add adds an attempt. One that was made again replaces the earlier one; what that
// cost still counts.
func (j *journal) add(a *Attempt) {
	j.segments.Prompt += int64(a.PromptTokens)
	j.segments.Completion += int64(a.CompletionTokens)
	if at, again := j.at[a.TrajectoryID]; again {
		if old := j.attempts[at]; old.Status == outcomes.StatusFailed {
			j.segments.add(old, -1)
			j.segments.add(a, 1)
			j.attempts[at] = a
		}
		return
	}
	j.segments.add(a, 1)
	if len(j.attempts) < maxAttempts {
		j.at[a.TrajectoryID] = len(j.attempts)
		j.attempts = append(j.attempts, a)
	}
}

// journal returns what was read of the journals of a dataset.
func (s *Server) journal(f *Found) *journal {
	j, _ := s.journals.Of(f.Key, func() (*journal, error) { return &journal{}, nil })
	return j
}

type liveModel struct {
	Frame
	*Found
	Self     string // URL of the page, with its filter
	Poll     string // how often the page asks; "" when the dataset is complete
	Tiles    []report.Tile
	Failures []counted
	Stops    []counted
	Attempts []*Attempt // the newest first
	Of       int        // attempts that match
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
	m := &liveModel{Frame: Frame{Title: f.Key + ", under way", Trail: trail[:len(trail)-1]}, Found: f}
	m.Class, m.Stop = r.FormValue("class"), r.FormValue("stop")
	if m.Page, err = countOf(r, "page"); err != nil {
		return nil, err
	}
	m.Self = m.url(m.Class, m.Stop, m.Page)
	if f.Complete {
		return m, nil
	}
	m.Poll = "every 2s"
	if _, local := s.bucket.Local(); !local {
		m.Poll = "every 5s"
	}
	j := s.journal(f)
	if err := j.refresh(r.Context(), f.URI); errors.Is(err, storage.ErrNotExist) { // the rollout ended
		s.datasets.forget()
		return nil, elsewhere(m.Self)
	} else if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	m.fill(j, s.prices, time.Now())
	return m, nil
}

// liveDataset returns the dataset that a request names by its key, or by an epoch
// whose rollout it is.
func (s *Server) liveDataset(r *http.Request) (*Found, error) {
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
	for _, f := range l.epochs()[e] {
		if f.Live() {
			return f, nil
		}
	}
	if f := l.rollout(e); f != nil {
		return f, nil
	}
	return nil, missing("epoch %d has no rollout", e)
}

// url returns the address of the page with another filter.
func (m *liveModel) url(class, stop string, page int) string {
	return withQuery(link("d", m.Key, "live"), "class", class, "stop", stop, "page", zero(page))
}

// ByClass and ByStop return the address with one filter.
func (m *liveModel) ByClass(name string) string { return m.url(name, m.Stop, 0) }

// ByStop is as ByClass, for the reason of the end.
func (m *liveModel) ByStop(name string) string { return m.url(m.Class, name, 0) }

// fill adds what the journal holds.
func (m *liveModel) fill(j *journal, p Prices, now time.Time) {
	classes := map[string]int64{}
	add(classes, j.segments.Classes)
	add(classes, j.parts.Classes)
	m.Failures, m.Stops = sorted(classes), sorted(j.segments.Stops)
	m.Tiles = j.tiles(p, now)
	var match []*Attempt
	for _, a := range slices.Backward(j.attempts) {
		if (m.Class == "" || a.FailureClass == m.Class) && (m.Stop == "" || a.StopReason == m.Stop) {
			match = append(match, a)
		}
	}
	m.Of = len(match)
	first := min(m.Page*attemptsPage, m.Of)
	end := min(first+attemptsPage, m.Of)
	m.Attempts = match[first:end]
	if m.Page > 0 {
		m.Newer = m.url(m.Class, m.Stop, m.Page-1)
	}
	if end < m.Of {
		m.Older = m.url(m.Class, m.Stop, m.Page+1)
	}
}
