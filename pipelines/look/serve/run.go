package serve

import (
	"cmp"
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
	"github.com/rollmill/rollmill/pipelines/look/text"
	"github.com/rollmill/rollmill/storage"
)

// maxEpochs is how many epochs the run's tables have; the others have their links.
const maxEpochs = 500

type runModel struct {
	Frame
	Run    page.Run
	Search string // URL
}

func (s *Server) runPage(r *http.Request) (any, error) {
	l, err := s.scope(r)
	if err != nil {
		return nil, err
	}
	if r.PathValue("run") == "" && len(l.Runs) > 1 {
		return nil, elsewhere("/runs")
	}
	m := &runModel{Frame: Frame{Title: s.name()}, Search: page.WithQuery("/search", "run", l.Run)}
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
	if err := m.fill(s, l, f.epochs); err != nil {
		return nil, err
	}
	m.Run.Notes = append(f.damaged, problems(l, "rollmill report '"+m.Run.Root+"'", f.made, f.partial, f.left)...)
	return m, nil
}

// fill adds the figures of the epochs and the datasets of all.
func (m *runModel) fill(s *Server, l *catalogue.Listing, epochs []history.Epoch) error {
	run := history.Run{Root: storage.Redact(storage.Join(s.root, l.Run)), Epochs: epochs}
	run.Funnel = run.AddUp()
	run.Price(s.prices)
	m.Run = page.RunOf(run)
	if len(run.MeanRewards()) > 0 {
		key, err := json.Marshal(run) // of another, the figure is drawn again
		if err != nil {
			return err
		}
		figure, err := s.figures.Of(string(key), func() (plot.FigureView, error) { return plot.RewardView(run) })
		if err != nil {
			return err
		}
		m.Run.Figures = []plot.FigureView{figure}
	}
	rows := map[int]page.EpochRow{}
	for _, e := range epochs {
		rows[e.Epoch] = page.EpochRow{Epoch: e, Known: true, URL: epochLink(l.Run, e.Epoch)}
	}
	for e, datasets := range l.Epochs() {
		if _, known := rows[e]; e >= 0 && !known {
			rows[e] = page.EpochRow{Epoch: history.Epoch{Epoch: e}, URL: epochLink(l.Run, e)}
		}
		for _, f := range datasets {
			link := page.Hyperlink{Name: f.Key, URL: linkOf(f), Note: "last written " + text.Since(f.Changed) + " ago"}
			if f.Live() {
				m.Run.Live = append(m.Run.Live, link)
			}
			if e < 0 {
				m.Run.Others = append(m.Run.Others, link)
			}
		}
	}
	slices.SortFunc(m.Run.Live, func(a, b page.Hyperlink) int { return strings.Compare(a.Name, b.Name) })
	m.Run.Epochs = slices.SortedFunc(maps.Values(rows), func(a, b page.EpochRow) int {
		return cmp.Compare(b.Epoch.Epoch, a.Epoch.Epoch)
	})
	if n := len(m.Run.Epochs) - maxEpochs; n > 0 {
		m.Run.Epochs = m.Run.Epochs[:maxEpochs]
		m.Run.EpochsLeft = fmt.Sprintf("%d older epochs are not listed; %s is the page of the first.", n, epochLink(l.Run, 0))
	}
	return nil
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
