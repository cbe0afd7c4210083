package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/plot"
	"github.com/rollmill/rollmill/storage"
)

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
