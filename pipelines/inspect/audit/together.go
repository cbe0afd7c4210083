package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/inspect"
)

// changed says which of a dataset's inputs are gone or are others now.
func changed(ctx context.Context, d *dataset.Dataset) ([]Finding, error) {
	var out []Finding
	for _, ref := range d.Inputs {
		if ref.Identity == "" { // a file
			continue
		}
		if _, err := d.OpenRef(ctx, ref); errors.Is(err, formats.ErrInvalid) {
			out = append(out, Finding{Check: checkChanged, Severity: Error, URI: d.URI(), What: err.Error()})
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// together looks at what several datasets and receipts say of one another.
func together(ctx context.Context, found *inspect.Found, o Options) ([]Finding, error) {
	var out []Finding
	if o.wants(checkLeak) {
		leaks, err := leaks(ctx, found.Datasets)
		if err != nil {
			return nil, err
		}
		out = leaks
	}
	if o.wants(checkResubmitted) {
		out = append(out, resubmitted(found.Receipts)...)
	}
	return out, nil
}

// examples are what a rollout's rows were made for.
type examples struct {
	ExampleID string `parquet:"example_id,dict"`
	Example   string `parquet:"example"`
}

// validation tells rollouts of a validation by where they lie.
func validation(d *dataset.Dataset) bool { return strings.Contains(d.URI()+"/", "/validation/") }

// leaks says which trained examples are also in a validation: by their ids,
// unless these are row numbers, and by what they say. Its memory grows with
// the validation's examples.
func leaks(ctx context.Context, all []*dataset.Dataset) ([]Finding, error) {
	held := struct {
		ids      map[string]bool
		contents map[xxh3.Uint128]bool
	}{map[string]bool{}, map[xxh3.Uint128]bool{}}
	for _, d := range all {
		if d.Kind != formats.KindTrajectories || !validation(d) {
			continue
		}
		if err := distinct(ctx, d, func(_ int64, e *examples) {
			if !formats.Numbered(e.ExampleID) {
				held.ids[e.ExampleID] = true
			}
			if key, ok := formats.ExampleContent(e.Example); ok {
				held.contents[key] = true
			}
		}); err != nil {
			return nil, err
		}
	}
	var out []Finding
	for _, d := range all {
		if d.Kind != formats.KindTrajectories || validation(d) || len(held.contents) == 0 {
			continue
		}
		c := count{}
		if err := distinct(ctx, d, func(row int64, e *examples) {
			c.of++
			key, says := formats.ExampleContent(e.Example)
			if held.ids[e.ExampleID] || says && held.contents[key] {
				c.add(&Row{Number: row}, "", "example "+e.ExampleID)
			}
		}); err != nil {
			return nil, err
		}
		for _, f := range c.over(0, "examples are in a validation too") {
			f.Check, f.Severity, f.URI = checkLeak, Error, d.URI()
			out = append(out, f)
		}
	}
	return out, nil
}

// distinct calls f with each example of a rollout, its generations once.
func distinct(ctx context.Context, d *dataset.Dataset, f func(row int64, e *examples)) error {
	var last examples
	return each(ctx, d, func(row int64, e *examples) error {
		if row > 0 && *e == last {
			return nil
		}
		last = examples{strings.Clone(e.ExampleID), strings.Clone(e.Example)}
		f(row, &last)
		return nil
	})
}

// resubmitted says which batches have receipts of several jobs.
func resubmitted(receipts []inspect.Receipt) []Finding {
	first := map[string]inspect.Receipt{}
	var out []Finding
	for _, r := range receipts {
		if r.Trajectories == 0 || r.State == formats.JobPrepared || r.State == formats.JobNothing {
			continue
		}
		key := r.CuratedDigest + " " + r.Backend
		if was, again := first[key]; again && r.Backend != "file" {
			out = append(out, Finding{Check: checkResubmitted, Severity: Warning, URI: r.URI, Count: r.Trajectories,
				What: fmt.Sprintf("the batch was handed to %s before: %s", r.Backend, was.URI)})
		}
		first[key] = r
	}
	return out
}
