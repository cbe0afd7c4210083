package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/storage/fault"
)

// changed reports inputs of a dataset that are missing or have another identity,
// and a changed base. It reads the whole base, unless the base is audited anyway.
// An input that was pruned is no fault.
func (a *auditor) changed(ctx context.Context, d *dataset.Dataset) error {
	for _, ref := range d.Inputs {
		if ref.Identity == "" { // a file
			continue
		}
		in, err := d.OpenRef(ctx, ref)
		if p := manifest.PrunedIn(err); p != nil && p.Was(ref) {
			continue
		}
		if err == nil && d.Base != nil && in.Is(d.Base) {
			err = a.base(ctx, d, in)
		}
		if errors.Is(err, fault.ErrInvalid) {
			a.find(checkChanged, validate.Finding{URI: d.URI(), What: err.Error()})
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) base(ctx context.Context, d, base *dataset.Dataset) error {
	if d.Kind != schema.KindTrajectories && d.Rows != base.Rows {
		return fault.Invalid(d.URI(), "", nil, "it has %d rows, its base %q has %d", d.Rows, base.URI(), base.Rows)
	}
	if slices.ContainsFunc(a.found.Datasets, func(o *dataset.Dataset) bool { return o.Is(d.Base) }) {
		return nil
	}
	err, known := a.sound[d.Base.Digest]
	if !known {
		err = dataset.Verify(ctx, base)
		a.sound[d.Base.Digest] = err
	}
	if err != nil {
		return fault.Invalid(d.URI(), "", err, "its base is damaged")
	}
	return nil
}

// together runs the checks that compare several datasets and receipts.
func (a *auditor) together(ctx context.Context) error {
	if a.wants(checkResubmitted) {
		a.find(checkResubmitted, resubmitted(a.found.Receipts)...)
	}
	if !a.wants(checkLeak) && !a.wants(checkLeakText) {
		return nil
	}
	return a.leaks(ctx)
}

// trained lists the states of a submission whose batch was, or may be, trained on.
var trained = []string{receipts.JobPending, receipts.JobRunning, receipts.JobCompleted}

// resubmitted reports batches that were sent to one target more than once. Receipts of the same
// submission, such as those of commands that attached to its job, have the same start time.
func resubmitted(receipts []find.Receipt) []validate.Finding {
	first := map[string]find.Receipt{}
	var out []validate.Finding
	for _, r := range receipts {
		if r.Trajectories == 0 || r.Backend == "file" || !slices.Contains(trained, r.State) {
			continue
		}
		was, again := first[r.Key]
		if again && !was.StartedAt.Equal(r.StartedAt) {
			out = append(out, validate.Finding{URI: r.URI, Count: r.Trajectories,
				What: fmt.Sprintf("the batch was submitted to %s before: %s", r.Backend, was.URI)})
		}
		if !again {
			first[r.Key] = r
		}
	}
	return out
}

// unnamed reports parts that a killed writer left, that a writer is writing, or
// that a compaction replaced.
func (a *auditor) unnamed(ctx context.Context, d *dataset.Dataset) error {
	parts, err := d.Unnamed(ctx)
	if err != nil || len(parts) == 0 {
		return err
	}
	a.findIn(d, checkUnnamed,
		[]validate.Finding{{What: "parts that the manifest does not name, such as " + parts[0], Count: int64(len(parts))}})
	return nil
}

// example is the example of a row, and the messages to its model.
type example struct {
	TrajectoryID string     `parquet:"trajectory_id"`
	ExampleID    string     `parquet:"example_id,dict"`
	Example      string     `parquet:"example"`
	Messages     []question `parquet:"messages,list"`
}

type question struct {
	Role    string `parquet:"role,dict"`
	Content string `parquet:"content,optional"`
}

// minQuestion is the minimum length of a user's first message that can identify an example.
const minQuestion = 24

// asked returns a hash of the words of the user's first message. It returns false
// if there is no such message, or it is too short to identify an example.
func (e *example) asked() (xxh3.Uint128, bool) {
	for _, m := range e.Messages {
		if m.Role == "user" {
			text := strings.Join(strings.Fields(m.Content), " ")
			return xxh3.HashString128(text), len(text) >= minQuestion
		}
	}
	return xxh3.Uint128{}, false
}

func (e *example) says(o *example) bool { return e.ExampleID == o.ExampleID && e.Example == o.Example }

// heldOut holds the examples of validations: their ids (unless these are row
// numbers), contents and first questions. Its size is proportional to their number.
type heldOut struct {
	ids       map[string]bool
	contents  map[xxh3.Uint128]bool
	questions map[xxh3.Uint128]string // the only example that asks this; "" for several
}

func (h *heldOut) add(_ int64, e *example) {
	if !formats.Numbered(e.ExampleID) {
		h.ids[e.ExampleID] = true
	}
	if key, ok := formats.ExampleContent(e.Example); ok {
		h.contents[key] = true
	}
	if key, ok := e.asked(); ok {
		if was, again := h.questions[key]; again && was != e.ExampleID {
			h.questions[key] = ""
		} else {
			h.questions[key] = e.ExampleID
		}
	}
}

func (h *heldOut) has(e *example) bool {
	key, says := formats.ExampleContent(e.Example)
	return h.ids[e.ExampleID] || says && h.contents[key]
}

// asks reports whether the first question of e is that of exactly one held-out example.
func (h *heldOut) asks(e *example) bool {
	key, ok := e.asked()
	return ok && h.questions[key] != ""
}

// leaks reports examples that are trained on and also in a validation. The examples that are
// trained on are those of curated datasets, or of rollouts if there is no curated dataset yet.
func (a *auditor) leaks(ctx context.Context) error {
	held := heldOut{map[string]bool{}, map[xxh3.Uint128]bool{}, map[xxh3.Uint128]string{}}
	for _, uri := range a.HeldOut {
		d, err := dataset.Open(ctx, uri, dataset.OpenOptions{Kind: schema.KindTrajectories})
		if err == nil {
			err = distinct(ctx, d, held.add)
		}
		if err != nil {
			return fmt.Errorf("reading held-out %q: %w", uri, err)
		}
	}
	var rollouts, curated []*dataset.Dataset
	for _, d := range a.found.Datasets {
		switch {
		case d.Kind != schema.KindTrajectories || a.damaged[d] || slices.Contains(a.HeldOut, d.URI()):
		case runroot.InValidation(d.URI()):
			if err := distinct(ctx, d, held.add); err != nil {
				return err
			}
		case d.Stage == "curate":
			curated = append(curated, d)
		default:
			rollouts = append(rollouts, d)
		}
	}
	if len(held.ids)+len(held.contents) == 0 {
		return nil
	}
	if curated == nil {
		curated = rollouts
	}
	for _, d := range curated {
		if err := a.leaked(ctx, d, &held); err != nil {
			return err
		}
	}
	return nil
}

// leaked reports held-out examples in one dataset.
func (a *auditor) leaked(ctx context.Context, d *dataset.Dataset, held *heldOut) error {
	var same, asked validate.Count
	err := distinct(ctx, d, func(row int64, e *example) {
		same.Of++
		asked.Of++
		switch at := (&validate.Row{Number: row, TrajectoryID: e.TrajectoryID}); {
		case held.has(e):
			same.Add(at, "", "example %s", e.ExampleID)
		case held.asks(e):
			asked.Add(at, "", "example %s", e.ExampleID)
		}
	})
	if err != nil {
		return err
	}
	a.findIn(d, checkLeak, same.Over(0, "examples are also in a validation"))
	a.findIn(d, checkLeakText, asked.Over(0, "examples have the first question of a validation example"))
	return nil
}

func (e *example) clone() example {
	out := example{strings.Clone(e.TrajectoryID), strings.Clone(e.ExampleID), strings.Clone(e.Example),
		make([]question, len(e.Messages))}
	for i, m := range e.Messages {
		out.Messages[i] = question{strings.Clone(m.Role), strings.Clone(m.Content)}
	}
	return out
}

// distinct calls f once with each example of a dataset.
func distinct(ctx context.Context, d *dataset.Dataset, f func(row int64, e *example)) error {
	r, err := dataset.NewReader[example](ctx, d, "", d.All())
	if err != nil {
		return err
	}
	var last example
	row := int64(0)
	for e, err := range r.Each(batch) {
		if err != nil {
			return err
		}
		if row == 0 || !e.says(&last) {
			last = e.clone()
			f(row, &last)
		}
		row++
	}
	return nil
}
