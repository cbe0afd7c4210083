package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/plot"
	"github.com/rollmill/rollmill/storage"
)

// compareModel is the page that compares runs of a folder.
type compareModel struct {
	Frame
	Runs     []runRow
	Figure   plot.FigureView
	Settings map[string][]string // those that differ, with the value in each run; "" for none
	Same     int                 // settings that do not
	Epoch    int                 // whose examples are compared: the last that all runs have scores of; -1 for none
	Side     string              // validation or training
	Flips    []*flip
	Flipped  int // also those that are not shown
	Shared   int // examples that all runs have
}

func (s *Server) comparePage(r *http.Request) (any, error) {
	runs := slices.Compact(slices.Sorted(slices.Values(r.URL.Query()["run"])))
	if len(runs) < 2 {
		return nil, elsewhere("/runs?choose=1")
	}
	if len(runs) > plot.MaxCurves {
		return nil, wrong(fmt.Sprintf("choose at most %d", plot.MaxCurves), "%d runs are too many to compare", len(runs))
	}
	all, err := s.datasets.List(r.Context())
	if err != nil {
		return nil, err
	}
	m := &compareModel{Frame: Frame{Title: "Comparison of runs", Trail: s.trail("")}}
	var lists []*catalogue.Listing
	var curves []history.Run
	for _, run := range runs {
		l, err := named(all, run)
		if err != nil {
			return nil, err
		}
		row, err := s.summary(r.Context(), l)
		if err != nil {
			return nil, err
		}
		lists, m.Runs = append(lists, l), append(m.Runs, row)
		curves = append(curves, history.Run{Root: row.Name, Epochs: row.Epochs})
	}
	if m.Figure, err = plot.CompareView(curves); err != nil {
		return nil, err
	}
	if err := m.settings(r.Context(), s, lists); err != nil {
		return nil, err
	}
	return m, m.examples(r.Context(), s, lists)
}

// settings adds the settings of each run's last rollout, and of what followed it.
func (m *compareModel) settings(ctx context.Context, s *Server, lists []*catalogue.Listing) error {
	of := map[string][]string{}
	for i, l := range lists {
		set := func(name, value string) {
			if of[name] == nil {
				of[name] = make([]string, len(lists))
			}
			of[name][i] = value
		}
		epochs := l.Epochs()
		last := -1
		for e, found := range epochs {
			if catalogue.Finished(found)["rollout"] != nil {
				last = max(last, e)
			}
		}
		for stage, f := range catalogue.Finished(epochs[last]) {
			if stage == "submit" {
				submitted(ctx, storage.Join(s.root, l.Run), f.URI, set)
				continue
			}
			d, err := history.StageOf(s.open(ctx, f))
			if err != nil {
				return err
			}
			flatten(stage, d.Params, set)
		}
	}
	m.Same = len(of)
	maps.DeleteFunc(of, func(_ string, values []string) bool { return len(slices.Compact(slices.Clone(values))) == 1 })
	m.Settings, m.Same = of, m.Same-len(of)
	return nil
}

// ofRows matches parameters that name the rows, and set nothing.
var ofRows = regexp.MustCompile(`\.(run|epoch|policy_version)$`)

// flatten calls set with each value of nested parameters, as JSON.
func flatten(name string, value any, set func(name, value string)) {
	if inner, is := value.(map[string]any); is {
		for key, v := range inner {
			flatten(name+"."+key, v, set)
		}
	} else if text, err := json.Marshal(value); err == nil && !ofRows.MatchString(name) {
		set(name, strings.Trim(string(text), `"`))
	}
}

// submitted calls set with the settings of a submission, as the run's ledger has them, if it
// has one. What is damaged there is said on the epoch's page.
func submitted(ctx context.Context, root, uri string, set func(name, value string)) {
	receipt, err := history.ReadReceipt(ctx, uri)
	if err != nil || receipt == nil || strings.Contains(receipt.Key, "/") {
		return
	}
	set("submit.backend", receipt.Backend)
	var intent struct{ Settings map[string]string }
	if b, err := storage.Open(ctx, root); err == nil {
		data, _ := b.Read(ctx, path.Join(".rollmill/ledger", receipt.Key, "1/intent.json"))
		_ = json.Unmarshal(data, &intent)
	}
	for name, value := range intent.Settings {
		set("submit."+name, strings.Trim(value, `"`))
	}
}
