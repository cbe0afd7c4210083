package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/storage"
)

// maxEpochs is how many epochs the run's tables have; the others have their links.
const maxEpochs = 500

type runModel struct {
	Frame
	Root     string
	Tiles    []report.Tile
	Figure   *report.FigureView
	Problems []string
	Rows     []epochRow
	RowsLeft int
	Columns  []report.Column
	Failures []counted
	Drops    []counted
	Live     []*Found // rollouts that are not complete
	Others   []*Found // outside of epochs
}

// epochRow is a row of the run's table.
type epochRow struct {
	report.Epoch
	Known    bool // has figures, not only datasets
	Partial  bool // without bands
	Datasets []*Found
}

// Stage returns the dataset of a stage, or nil.
func (r epochRow) Stage(name string) *Found {
	for _, f := range r.Datasets {
		if f.Stage == name {
			return f
		}
	}
	return nil
}

// Tokens returns the tokens of the epoch's calls.
func (r epochRow) Tokens() int64 { return r.Cost.PromptTokens + r.Cost.CompletionTokens }

// Total returns the seconds of all stages.
func (r epochRow) Total() float64 {
	total := 0.0
	for _, s := range r.Seconds {
		total += s
	}
	return total
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
	l, err := s.datasets.list(r.Context())
	if err != nil {
		return nil, err
	}
	m := &runModel{Frame: Frame{Title: s.name()}, Root: storage.Redact(s.root)}
	known, err := s.history.read(r.Context(), s.bucket, l)
	if err != nil {
		if !errors.Is(err, formats.ErrInvalid) {
			return nil, err
		}
		m.Problems = append(m.Problems, err.Error())
	}
	f, err := s.counted(r.Context(), l, known)
	if err != nil {
		return nil, err
	}
	if err := m.fill(r.Context(), s, l, f.epochs, f.partial); err != nil {
		return nil, err
	}
	m.Problems = append(append(m.Problems, f.damaged...), problems(l, s.command(), len(known) > 0, f.partial, f.left)...)
	return m, nil
}

// fill adds the figures of the epochs and the datasets of all.
func (m *runModel) fill(ctx context.Context, s *Server, l *listing, epochs []report.Epoch, partial []int) error {
	run := report.Run{Root: m.Root, Epochs: epochs}
	if len(epochs) > 0 {
		var err error
		if m.Figure, err = s.figure.of(run); err != nil {
			return err
		}
		m.Tiles, m.Columns = report.Tiles(run), report.Columns(epochs)
		m.Columns = m.Columns[:min(len(m.Columns), maxColumns)]
	}
	failures, drops := map[string]int64{}, map[string]int64{}
	of := map[int]epochRow{}
	for _, e := range epochs {
		of[e.Epoch] = epochRow{Epoch: e, Known: true, Partial: slices.Contains(partial, e.Epoch)}
		add(failures, e.Failures)
		add(drops, e.Drops)
	}
	m.Failures, m.Drops = sorted(failures), sorted(drops)
	found := l.epochs()
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
	slices.SortFunc(m.Live, func(a, b *Found) int { return strings.Compare(a.Key, b.Key) })
	rows := slices.SortedFunc(maps.Values(of), func(a, b epochRow) int { return cmp.Compare(b.Epoch.Epoch, a.Epoch.Epoch) })
	m.Rows = rows[:min(len(rows), maxEpochs)]
	m.RowsLeft = len(rows) - len(m.Rows)
	return ctx.Err()
}

// maxColumns is how many named rewards the table has.
const maxColumns = 30

func add(to, from map[string]int64) {
	for k, n := range from {
		to[k] += n
	}
}

// problems returns what a reader of the run should know first.
func problems(l *listing, command string, made bool, partial, left []int) []string {
	var out []string
	if !made && len(partial)+len(left) > 0 {
		out = append(out, "The run has no history of rewards: "+command+" makes it, with bands and named rewards.")
	} else if len(partial) > 0 {
		out = append(out, fmt.Sprintf("%s not in the report as now, and without bands: %s. %s adds them.",
			epochsAre(len(partial)), numbers(partial), command))
	}
	if len(left) > 0 {
		out = append(out, fmt.Sprintf("%s without figures: %s.", epochsAre(len(left)), numbers(left)))
	}
	for _, f := range l.found {
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

// numbers lists epochs, at most ten.
func numbers(list []int) string {
	var out []string
	for i, n := range list {
		if i == 10 {
			out = append(out, "...")
			break
		}
		out = append(out, fmt.Sprint(n))
	}
	return strings.Join(out, ", ")
}

// command returns the command that makes the report.
func (s *Server) command() string { return "rollmill report '" + storage.Redact(s.root) + "'" }

// name returns the name of what is served.
func (s *Server) name() string {
	_, name := storage.Split(storage.Redact(s.root))
	return cmp.Or(name, "run")
}
