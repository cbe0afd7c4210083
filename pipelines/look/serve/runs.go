package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/plot"
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
	Spent     float64   // at the given prices
	When      time.Time // of the last file
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
	m := &runsModel{Frame: Frame{Title: s.name()}, Root: storage.Redact(s.root), Priced: s.prices != history.Prices{}}
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
		row.When = changed[run]
		m.Runs, m.Problems = append(m.Runs, row), append(m.Problems, row.damaged...)
	}
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
		row.damaged = append(row.damaged, fmt.Sprintf("%s: %s without figures: %s.", row.Name, epochsAre(len(f.left)), plural.Numbers(f.left)))
	}
	row.Live = slices.ContainsFunc(l.Entries, (*catalogue.Entry).Live)
	cost := history.Run{Epochs: row.Epochs}.Cost()
	row.Tokens, row.Spent = cost.Tokens(), s.prices.Of(cost)
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

// maxEpochs is how many epochs the run's tables have; the others have their links.
const maxEpochs = 500

type runModel struct {
	Frame
	Root, Run  string
	Tiles      []history.Tile
	Figure     plot.FigureView
	Problems   []string
	Rows       []epochRow
	RowsLeft   int
	Components []history.Tile
	Failures   []counted
	Drops      []counted
	Live       []*catalogue.Entry // rollouts that are not complete
	Others     []*catalogue.Entry // outside of epochs
}

// epochRow is a row of the run's table.
type epochRow struct {
	history.Epoch
	Known    bool // has figures, not only datasets
	Datasets []*catalogue.Entry
}

// counted is a name with a number, such as a failure class.
type counted struct {
	Name string
	N    int64
}

// sorted returns numbers by name, the largest first.
func sorted(numbers map[string]int64) []counted {
	var out []counted
	for name, n := range numbers {
		if n != 0 {
			out = append(out, counted{name, n})
		}
	}
	slices.SortFunc(out, func(a, b counted) int { return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Name, b.Name)) })
	return out
}

func (s *Server) runPage(r *http.Request) (any, error) {
	l, err := s.scope(r)
	if err != nil {
		return nil, err
	}
	if r.PathValue("run") == "" && len(l.Runs) > 1 {
		return nil, elsewhere("/runs")
	}
	m := &runModel{Frame: Frame{Title: s.name()}, Root: storage.Redact(storage.Join(s.root, l.Run)), Run: l.Run}
	if at := slices.Index(l.Runs, l.Run); len(l.Runs) > 1 {
		m.Title, m.Trail = cmp.Or(l.Run, s.name()), s.trail("")
		if at > 0 {
			m.Prev = page.Link("r", l.Runs[at-1])
		}
		if at+1 < len(l.Runs) {
			m.Next = page.Link("r", l.Runs[at+1])
		}
	}
	f, err := s.counted(r.Context(), l, true)
	if err != nil {
		return nil, err
	}
	if err := m.fill(r.Context(), s, l, f.epochs); err != nil {
		return nil, err
	}
	m.Problems = append(f.damaged, problems(l, "rollmill report '"+m.Root+"'", f.made, f.partial, f.left)...)
	return m, nil
}

// fill adds the figures of the epochs and the datasets of all.
func (m *runModel) fill(ctx context.Context, s *Server, l *catalogue.Listing, epochs []history.Epoch) error {
	run := history.Run{Root: m.Root, Epochs: epochs}
	if len(run.MeanRewards()) > 0 {
		key, err := json.Marshal(run) // of another, the figure is drawn again
		if err == nil {
			m.Figure, err = s.figures.Of(string(key), func() (plot.FigureView, error) { return plot.RewardView(run) })
		}
		if err != nil {
			return err
		}
	}
	if len(epochs) > 0 {
		m.Tiles, m.Components = history.Tiles(run, s.prices.Of), history.Components(epochs)
	}
	failures, drops := map[string]int64{}, map[string]int64{}
	of := map[int]epochRow{}
	for _, e := range epochs {
		of[e.Epoch] = epochRow{Epoch: e, Known: true}
		add(failures, e.Failures)
		add(drops, e.Drops)
	}
	m.Failures, m.Drops = sorted(failures), sorted(drops)
	found := l.Epochs()
	m.Others = found[-1]
	for e, datasets := range found {
		if e >= 0 {
			row := of[e]
			row.Epoch.Epoch, row.Datasets = e, datasets
			of[e] = row
		}
		for _, f := range datasets {
			if f.Live() {
				m.Live = append(m.Live, f)
			}
		}
	}
	slices.SortFunc(m.Live, func(a, b *catalogue.Entry) int { return strings.Compare(a.Key, b.Key) })
	rows := slices.SortedFunc(maps.Values(of), func(a, b epochRow) int { return cmp.Compare(b.Epoch.Epoch, a.Epoch.Epoch) })
	m.Rows = rows[:min(len(rows), maxEpochs)]
	m.RowsLeft = len(rows) - len(m.Rows)
	return ctx.Err()
}

func add(to, from map[string]int64) {
	for k, n := range from {
		to[k] += n
	}
}

// problems returns what a reader of the run should know first.
func problems(l *catalogue.Listing, command string, made bool, partial, left []int) []string {
	var out []string
	if !made && len(partial)+len(left) > 0 {
		out = append(out, "The run has no history of rewards: "+command+" makes it, with bands and named rewards.")
	} else if len(partial) > 0 {
		out = append(out, fmt.Sprintf("%s not in the report as now, and without bands: %s. %s adds them.",
			epochsAre(len(partial)), plural.Numbers(partial), command))
	}
	if len(left) > 0 {
		out = append(out, fmt.Sprintf("%s without figures: %s.", epochsAre(len(left)), plural.Numbers(left)))
	}
	for _, f := range l.Entries {
		if !f.Complete && !f.Receipt && !f.Live() {
			out = append(out, fmt.Sprintf("%s has %s, and is not complete: run its command again, or rollmill seal.", f.Key,
				plural.Of(int64(f.Parts), "part")))
		}
	}
	return out
}

func epochsAre(n int) string {
	if n == 1 {
		return "1 epoch is"
	}
	return fmt.Sprintf("%d epochs are", n)
}

// name returns the name of what is served.
func (s *Server) name() string {
	_, name := storage.Split(storage.Redact(s.root))
	return cmp.Or(name, "run")
}
