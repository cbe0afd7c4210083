package report

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the page and its style
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage"
)

//go:embed page.html
var pageText string

// Style is the style of the page, which the viewer's pages begin with.
//
//go:embed page.css
var Style string

// The page must not be longer than mostBytes. Trajectories take textBytes of it; if it
// becomes too long, they are cut further.
const (
	maxBytes  = 5_000_000
	textBytes = 3_000_000

	maxEpochs   = 200 // rows of a table
	maxRewards  = 30  // columns of named rewards
	maxFindings = 100
)

// page is what the template of report.html gets.
type page struct {
	Run          Run
	Title        string
	Time         time.Time
	Epochs       []Epoch // those in the tables
	Figures      []FigureView
	Tiles        []Tile
	Columns      []Column
	ColumnsLeft  int
	Funnel       []formats.FunnelStep
	FunnelEpoch  int
	FunnelStart  int64
	FunnelQuiet  int // rules that refused nothing
	Lists        []*GroupList
	ListsEpoch   int
	Findings     []validate.Finding
	FindingsLeft int
	Trajectories []*shownTrajectory
	Anchors      map[string]string
	Of           int64 // trajectories of the run
	Style        template.CSS
	StyleHash    string
}

// Column is a named reward of training or of validation.
type Column struct {
	Name, Side string
	of         func(Epoch) *Sample
}

// At returns the reward in an epoch, with its band.
func (c Column) At(e Epoch) string { return namedOf(c.of(e), c.Name) }

// Columns returns the named rewards of a run's epochs.
func Columns(epochs []Epoch) []Column {
	var out []Column
	sides := []Column{
		{"", "training", func(e Epoch) *Sample { return e.Train }},
		{"", "kept", func(e Epoch) *Sample { return e.Kept }},
		{"", "validation", func(e Epoch) *Sample { return e.Validation }},
	}
	for _, name := range scoreNames(epochs) {
		sides = append(sides, Column{"", name, scoresOf(name)})
	}
	for _, c := range sides {
		for _, c.Name = range slices.Sorted(maps.Keys(partsOf(epochs, c.of))) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Tile is a figure at the top of the page.
type Tile struct{ Name, Value, Note string }

// FigureView is a plot in colours for light and for dark pages.
type FigureView struct {
	Alt   string
	Light template.URL
	Dark  template.Srcset
}

// Funcs are the functions with which pages show values: numbers, bands of 95 %, and
// short texts with their control characters made visible.
var Funcs = template.FuncMap{
	"number": number, "thousands": Thousands, "visible": func(s string) string { return visible(short(s, 300)) },
	"band": band, "meanOf": meanOf,
}

var pageTemplate = template.Must(template.New("report").Funcs(Funcs).Funcs(template.FuncMap{
	"anchor": func(p *page, id string) string { return p.Anchors[id] },
	"place": func(p *page, uri string) string {
		return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(uri, p.Run.Root), "/"), "the run")
	},
	"rest": func(t *shownTrajectory, i int) bool { return t.LeftOut > 0 && i == t.LeftOutAfter },
}).Parse(pageText))

// band returns a mean with the half of its band of 95 %.
func band(v, err *float64) string {
	if v == nil || err == nil {
		return number(v)
	}
	return fmt.Sprintf("%.4f ± %.4f", *v, z95**err)
}

// namedOf returns a named reward of a sample, with its band.
func namedOf(s *Sample, name string) string {
	if s == nil {
		return "-"
	}
	v, has := s.Rewards[name]
	if !has {
		return "-"
	}
	if e, has := s.RewardStdErrs[name]; has {
		return band(&v, &e)
	}
	return number(&v)
}

// Thousands returns a number with commas.
func Thousands(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// pageFiles returns report.html, and the histograms it shows.
func pageFiles(ctx context.Context, root string, run Run) ([]file, error) {
	s, err := examine(ctx, root, run)
	if err != nil {
		return nil, err
	}
	var out []file
	figures := []FigureView{}
	add := func(f figure, alt, name string) error {
		view, err := f.view(alt)
		if err != nil || name == "" {
			figures = append(figures, view)
			return err
		}
		files, err := f.files(name)
		figures, out = append(figures, view), append(out, files...)
		return err
	}
	err = add(rewardFigure(run), rewardAlt, "")
	if err == nil && len(s.rewards) > 0 {
		err = add(histograms(run.title(), "reward", 0, s.rewards), "Histograms of training rewards by epoch",
			"reward_histogram")
	}
	if err == nil && len(s.lengths) > 0 {
		err = add(histograms(run.title(), "tokens", 3, s.lengths), "Histograms of lengths in sampled tokens by epoch",
			"length_histogram")
	}
	if err != nil {
		return nil, err
	}
	for budget := textBytes; budget > 1000; budget /= 2 {
		html, err := s.html(ctx, run, figures, budget)
		if err != nil {
			return nil, err
		}
		if len(html) <= maxBytes {
			return append(out, file{"report.html", html}), nil
		}
	}
	return nil, errors.New("report.html would be larger than 5 MB even without conversations")
}

// view returns the figure as SVG, or as PNG where that is smaller.
func (f figure) view(alt string) (FigureView, error) {
	v := FigureView{Alt: alt}
	for _, t := range []theme{light, dark} {
		media := "image/svg+xml"
		data, err := f.svg(t)
		if err == nil && len(data) > 200_000 {
			media = "image/png"
			data, err = f.png(t)
		}
		if err != nil {
			return v, err
		}
		if v.Dark = template.Srcset(dataURL(media, data)); v.Light == "" { //nolint:gosec // base64
			v.Light = template.URL(v.Dark) //nolint:gosec // base64
		}
	}
	return v, nil
}

// html renders the page with about so many bytes of conversations.
func (s *study) html(ctx context.Context, run Run, figures []FigureView, budget int) ([]byte, error) {
	sum := sha256.Sum256([]byte(Style))
	p := &page{Run: run, Title: visible(run.title()), Epochs: spread(run.Epochs, maxEpochs), Figures: figures,
		Tiles: Tiles(run), FunnelEpoch: s.funnelEpoch, ListsEpoch: s.listsEpoch,
		Anchors: map[string]string{}, Style: template.CSS(Style), StyleHash: base64.StdEncoding.EncodeToString(sum[:])} //nolint:gosec // our own
	p.Run.Root = visible(storage.Redact(run.Root))
	for _, e := range run.Epochs {
		if e.Time.After(p.Time) {
			p.Time = e.Time
		}
	}
	p.Columns = Columns(run.Epochs)
	if n := len(p.Columns); n > maxRewards {
		p.Columns, p.ColumnsLeft = p.Columns[:maxRewards], n-maxRewards
	}
	for _, f := range s.funnel {
		p.FunnelStart = max(p.FunnelStart, f.TrajectoriesLeft+f.Trajectories)
		if f.Trajectories > 0 || f.Groups > 0 {
			p.Funnel = append(p.Funnel, f)
		} else {
			p.FunnelQuiet++
		}
	}
	if s.hasGroups() {
		p.Lists = s.lists
	}
	p.Findings = s.findings
	if n := len(p.Findings); n > maxFindings {
		p.Findings, p.FindingsLeft = p.Findings[:maxFindings], n-maxFindings
	}
	if err := s.trajectories(ctx, p, budget); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, p)
	return out.Bytes(), err
}

func (s *study) trajectories(ctx context.Context, p *page, budget int) error {
	images, n := min(maxImages, budget), 0
	limit := min(maxTrajectories, maxTrajectories*8*budget/textBytes) // fewer only if shorter ones did not help
	for _, from := range s.strata {
		p.Of += from.d.Rows
		n += len(from.picks)
	}
	for _, from := range s.strata {
		err := from.read(ctx, func(r *shownRow) {
			if len(p.Trajectories) >= limit {
				return
			}
			v := viewOf(r, budget/max(1, n), &images)
			v.Epoch, v.Validation, v.Facts = from.Epoch, from.Validation, s.facts[r.TrajectoryID]
			v.Anchor = fmt.Sprintf("t%d", len(p.Trajectories)+1)
			if !from.Validation {
				p.Anchors[r.TrajectoryID] = v.Anchor
			}
			p.Trajectories = append(p.Trajectories, v)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// spread returns at most n of the epochs, the first and the last among them.
func spread(epochs []Epoch, n int) []Epoch {
	if len(epochs) <= n {
		return epochs
	}
	out := make([]Epoch, n)
	for i := range out {
		out[i] = epochs[i*(len(epochs)-1)/(n-1)]
	}
	return out
}

// Tiles returns the figures at the top of the page.
func Tiles(run Run) []Tile {
	var trajectories, failed, kept int64
	var seconds float64
	var cost Cost
	for _, e := range run.Epochs {
		cost.Calls, cost.PromptTokens, cost.CompletionTokens = cost.Calls+e.Cost.Calls, cost.PromptTokens+
			e.Cost.PromptTokens, cost.CompletionTokens+e.Cost.CompletionTokens
		if e.Train != nil {
			trajectories, failed = trajectories+e.Train.Trajectories, failed+e.Train.Failed
		}
		if e.Kept != nil {
			kept += e.Kept.Trajectories
		}
		for _, s := range e.Seconds {
			seconds += s
		}
	}
	out := []Tile{{"Epochs", Thousands(len(run.Epochs)), ""}}
	for _, x := range []struct {
		name string
		of   func(Epoch) *Sample
	}{{"Training reward", func(e Epoch) *Sample { return e.Train }},
		{"Validation reward", func(e Epoch) *Sample { return e.Validation }}} {
		var first, last *Sample
		at := 0
		for _, e := range run.Epochs {
			if s := x.of(e); s != nil && s.Mean != nil {
				if first == nil {
					first = s
				}
				last, at = s, e.Epoch
			}
		}
		if last == nil {
			continue
		}
		t := Tile{x.name, band(last.Mean, last.StdErr), fmt.Sprintf("epoch %d", at)}
		if first != last {
			t.Note += ", from " + number(first.Mean)
		}
		out = append(out, t)
	}
	share := func(n int64) string {
		if trajectories == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f %% of %s", 100*float64(n)/float64(trajectories), Thousands(trajectories))
	}
	out = append(out, Tile{"Trajectories", Thousands(trajectories), ""}, Tile{"Failed", Thousands(failed), share(failed)},
		Tile{"Kept by curate", Thousands(kept), share(kept)})
	if cost.Calls > 0 {
		out = append(out, Tile{"Model calls", Thousands(cost.Calls), ""},
			Tile{"Tokens", Thousands(cost.PromptTokens + cost.CompletionTokens),
				Thousands(cost.CompletionTokens) + " of them sampled"})
	}
	return append(out, Tile{"Time in stages", (time.Duration(math.Round(seconds)) * time.Second).String(),
		"all stages together"})
}
