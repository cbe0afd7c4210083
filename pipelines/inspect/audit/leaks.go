package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/heldout"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
)

// leaks reports what is trained on and also held out. What is trained on are the rows
// of curated datasets, or of rollouts if there is no curated dataset yet.
func (a *auditor) leaks(ctx context.Context) error {
	o := a.HeldOut
	var rollouts, curated []*dataset.Dataset
	for _, d := range a.found.Datasets {
		switch {
		case d.Kind != schema.KindTrajectories || a.damaged[d] || slices.Contains(o.URIs, d.URI()):
		case runroot.InValidation(d.URI()):
			o.More = append(o.More, d)
		case d.Stage == "curate":
			curated = append(curated, d)
		default:
			rollouts = append(rollouts, d)
		}
	}
	o.Warn = func(text string) {
		if a.wants(checkLeakShort) {
			a.find(checkLeakShort, validate.Finding{URI: a.found.Root, What: text})
		}
	}
	held, err := heldout.Open(ctx, o)
	if err != nil || held == nil {
		return err
	}
	if curated == nil {
		curated = rollouts
	}
	for _, d := range curated {
		if err := a.leaked(ctx, d, held); err != nil {
			return err
		}
	}
	return nil
}

// leaked reports held-out examples, and words of their texts, in one dataset.
func (a *auditor) leaked(ctx context.Context, d *dataset.Dataset, held *heldout.Set) error {
	r, err := dataset.NewReaderOf[formats.Trajectory](ctx, d, d.All(), heldout.Columns)
	if err != nil {
		return err
	}
	same, asked, words := validate.Count{}, validate.Count{}, validate.Count{Of: d.Rows}
	var last formats.Trajectory
	most, counts, what := 0, map[uint64]int{}, "rows have words of a held-out text"
	row := int64(-1)
	for t, err := range r.Each(batch) {
		if err != nil {
			return err
		}
		row++
		again := row > 0 && t.ExampleID == last.ExampleID && t.Example == last.Example
		if again && held.Ngrams == 0 {
			continue
		}
		at, hit := &validate.Row{Number: row, TrajectoryID: t.TrajectoryID}, held.Holds(t)
		if hit != nil && hit.Words != "" {
			key := xxh3.HashString(hit.Words)
			if counts[key]++; counts[key] > 1 && counts[key] > most {
				most = counts[key]
				what = fmt.Sprintf("rows have words of a held-out text, %d of them %q", most, hit.Words)
			}
			words.Add(at, "", "%s", hit.Text)
			if n := len(words.First); int64(n) == words.N {
				other := validate.PlaceOf(hit.HeldRow, "", held.Sources[hit.Source]+": "+hit.HeldText)
				words.First[n-1].Other = &other
			}
		}
		if again {
			continue
		}
		last.ExampleID, last.Example = strings.Clone(t.ExampleID), strings.Clone(t.Example)
		same.Of, asked.Of = same.Of+1, asked.Of+1
		switch {
		case hit != nil && hit.Words == "":
			same.Add(at, "", "example %s", t.ExampleID)
		case held.Asks(t):
			asked.Add(at, "", "example %s", t.ExampleID)
		}
	}
	a.findIn(d, checkLeak, same.Over(0, "examples are also in a validation"))
	a.findIn(d, checkLeakText, asked.Over(0, "examples have the first question of a validation example"))
	a.findIn(d, checkLeakWords, words.Over(0, "%s", what))
	return nil
}
