package serve

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/storage"
)

// maxRuns is how many runs of a folder are listed: those that changed last.
const maxRuns = 100

// runsModel is the page of a folder of runs.
type runsModel struct {
	Frame
	Root     string
	Runs     []runRow
	Left     int
	Priced   bool
	Problems []string
	Others   []*catalogue.Entry // outside of the runs
}

// runRow is a run in the list.
type runRow struct {
	Name, Key string // Key is its path below the root
	Epochs    []history.Epoch
	Best      *history.Sample // the greatest mean of validation, or of training without one
	BestEpoch int
	Side      string // which of the two
	Trend     history.Trend
	Trained   int // epochs that a trainer completed
	Tokens    int64
	Spent     string    // at the given prices; "" without
	When      time.Time // of its last dataset, as that notes it; zero if it does not
	Live      bool
	damaged   []string
}

// scope returns the listing of the run that a request names. Without a name it is the only
// run, or what is in the root itself.
func (s *Server) scope(r *http.Request) (*catalogue.Listing, error) {
	l, err := s.datasets.List(r.Context())
	if err != nil {
		return nil, err
	}
	if r.PathValue("run") != "" {
		return named(l, segment(r, "run"))
	}
	if len(l.Runs) == 1 {
		return l.Of(l.Runs[0]), nil
	}
	return l.Of(""), nil
}

func (s *Server) runsPage(r *http.Request) (any, error) {
	l, err := s.datasets.List(r.Context())
	if err != nil {
		return nil, err
	}
	m := &runsModel{Frame: Frame{Title: s.name()}, Root: storage.Redact(s.root), Priced: len(s.prices) > 0}
	if !slices.Contains(l.Runs, "") { // which has them on its page
		m.Others = l.Of("").Entries
	}
	changed := map[string]time.Time{}
	for _, f := range l.Entries {
		if f.Changed.After(changed[f.Run]) {
			changed[f.Run] = f.Changed
		}
	}
	runs := slices.SortedFunc(slices.Values(l.Runs), func(a, b string) int {
		return cmp.Or(changed[b].Compare(changed[a]), cmp.Compare(a, b))
	})
	m.Left = max(0, len(runs)-maxRuns)
	for _, run := range runs[:len(runs)-m.Left] {
		row, err := s.summary(r.Context(), l.Of(run))
		if err != nil {
			return nil, err
		}
		m.Runs, m.Problems = append(m.Runs, row), append(m.Problems, row.damaged...)
	}
	slices.SortStableFunc(m.Runs, func(a, b runRow) int { return b.When.Compare(a.When) })
	if r.URL.Query().Has("choose") {
		m.Problems = append(m.Problems, "Choose two runs or more to compare.")
	}
	return m, nil
}

// summary returns the figures of a run: those of the report, and of newer datasets.
func (s *Server) summary(ctx context.Context, l *catalogue.Listing) (runRow, error) {
	row := runRow{Name: cmp.Or(l.Run, s.name()), Key: l.Run}
	f, err := s.counted(ctx, l, false)
	if err != nil {
		return row, err
	}
	if row.Epochs, row.damaged = f.epochs, f.damaged; len(f.left) > 0 {
		row.damaged = append(row.damaged, fmt.Sprintf("%s: %s without figures: %s.", row.Name,
			epochsAre(len(f.left)), plural.Numbers(f.left)))
	}
	row.Live = slices.ContainsFunc(l.Entries, (*catalogue.Entry).Live)
	for _, f := range slices.Backward(l.Entries) {
		if f.Complete {
			last, _ := history.StageOf(s.open(ctx, f)) // counted names a damaged one
			row.When = last.Written
			break
		}
	}
	run := history.Run{Epochs: row.Epochs}
	run.Price(s.prices)
	row.Tokens = run.Cost().Tokens()
	row.Spent, _ = run.Money.Text()
	for _, e := range row.Epochs {
		if e.Receipt != nil && e.Receipt.State == receipts.JobCompleted {
			row.Trained++
		}
	}
	for side, of := range history.Sides {
		if row.Best != nil {
			break
		}
		row.Trend = nil
		for _, e := range row.Epochs {
			mean := math.NaN()
			if sample := of(e); sample != nil && sample.Mean != nil {
				if mean = *sample.Mean; row.Best == nil || mean > *row.Best.Mean {
					row.Best, row.BestEpoch, row.Side = sample, e.Epoch, strings.ToLower(side)
				}
			}
			row.Trend = append(row.Trend, mean)
		}
	}
	return row, nil
}

// named returns what is of a run that must be there.
func named(l *catalogue.Listing, run string) (*catalogue.Listing, error) {
	if !slices.Contains(l.Runs, run) {
		return nil, missing("no run %q in this folder", run)
	}
	return l.Of(run), nil
}

// name returns the name of what is served.
func (s *Server) name() string {
	_, name := storage.Split(storage.Redact(s.root))
	return cmp.Or(name, "run")
}
