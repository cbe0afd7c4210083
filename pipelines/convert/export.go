package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/joined"
	"github.com/rollmill/rollmill/formats/expression"
	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/exporters/fit"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// ExportOptions say what to export, and where to.
type ExportOptions struct {
	In              string
	AcceptGates     []string
	To              []exporters.File
	Out             string    // a file, a folder, or "-" for Stdout
	Stdout          io.Writer // of Out "-"
	Overwrite       bool
	Lossy           bool
	Per             sequences.Per        // what counts the same in forms of sequences; "": weights are 1
	Advantages      exporters.Advantages // with which rows are made
	trainset.Choice                      // of formats of best members
	Accept          []string             // findings with which rows are written all the same
	Statuses        []string             // only rows with one of these; none: all
	Where           string               // only rows for which this expression is true; "": all

	Redact   *redaction.Rules // applied before anything else sees a row; nil: none
	Progress func(rows int64) // is told of rows that were read; nil: nobody
}

// ExportReport says what was written and what was left out.
type ExportReport struct {
	URI      string           `json:"uri"` // of the file or the folder; "" for stdout
	In       string           `json:"in"`
	Rows     int64            `json:"rows"` // read
	Filtered map[string]int64 `json:"filtered,omitempty"`
	Files    []Written        `json:"files"`
	Redacted redaction.Counts `json:"redacted,omitzero"`
	Notes    []string         `json:"notes,omitempty"` // warnings
}

// Written is one file or folder of documents.
type Written struct {
	Format string `json:"format"`
	URI    string `json:"uri,omitempty"`
	exporters.Entry
	Dropped map[string]int64 `json:"dropped,omitempty"` // rows without a part of theirs, by part
}

// Export exports.
func Export(ctx context.Context, o ExportOptions) (ExportReport, error) {
	keep, err := expression.NewFilter(o.Statuses, o.Where)
	if err != nil {
		return ExportReport{}, err
	}
	accepted, err := validate.Accept(o.Accept)
	if err != nil {
		return ExportReport{}, err
	}
	to, err := newTarget(ctx, &o)
	if err != nil {
		return ExportReport{}, err
	}
	defer to.discard()
	d, err := dataset.Open(ctx, o.In, dataset.OpenOptions{AcceptGates: o.AcceptGates})
	if err != nil {
		return ExportReport{}, err
	}
	from, err := joined.Of(ctx, d)
	if err != nil {
		return ExportReport{}, err
	}
	tables, err := tablesOf(ctx, d, o.To, keep)
	if err != nil {
		return ExportReport{}, err
	}
	e := &export{ExportOptions: o, from: from, newer: d.Known() != nil || from.Base.Known() != nil, keep: keep, accepted: accepted,
		losses: map[string]map[string]int64{}, report: ExportReport{URI: to.uri, In: from.Rows.URI(), Filtered: map[string]int64{}}}
	e.pass = exporters.NewPass(o.To, o.Choice, o.Redact.Tables(tables, e.report.Redacted.Add),
		exporters.Place{Begin: to.begin, Put: to.put, Drop: e.drop, Accept: accepted})
	defer e.pass.Close()
	if err := e.fits(ctx); err != nil {
		return e.report, err
	}
	weights, err := e.weights(ctx)
	if err != nil {
		return e.report, err
	}
	for _, w := range e.pass.Writers {
		w.Weights = weights
	}
	if err := from.Groups(ctx, e.columns(), func(rows []formats.Trajectory) error { return e.group(ctx, rows) }); err != nil {
		return e.report, err
	}
	if err := e.end(); err != nil {
		return e.report, err
	}
	return e.report, to.publish(ctx, e.report.Files)
}

// export is one run.
type export struct {
	ExportOptions
	from     *joined.Source
	newer    bool // from has columns that this version does not know
	keep     *expression.Filter
	pass     *exporters.Pass
	accepted validate.Accepted
	losses   map[string]map[string]int64 // by kind of file and part
	lost     error                       // the first part that was refused
	runs     int64                       // adjacent rows of one group
	report   ExportReport
}

// weights counts the sequences in a pass of their own: a weight depends on the whole batch.
func (e *export) weights(ctx context.Context) (*sequences.Weights, error) {
	if e.Per == "" {
		return nil, nil
	}
	for _, f := range e.To {
		if f.Format.Loss == "" {
			return nil, fault.Errorf(fault.Usage, "leave out --row-weight, or the format",
				"format %s has no weights: its rows are not sequences of tokens, or its trainer computes advantages from "+
					"rewards", f.Name)
		}
	}
	w, memory := &sequences.Weights{Per: e.Per}, new(sequences.Memory)
	return w, e.from.Groups(ctx, e.columns(), func(rows []formats.Trajectory) error {
		for i := range rows {
			e.Redact.Trajectory(&rows[i]) // what is redacted has no tokens
			reason, err := e.keep.Refuses(ctx, &rows[i])
			if err != nil {
				return fmt.Errorf("trajectory %q: %w", rows[i].TrajectoryID, err)
			}
			if reason == "" {
				list, _ := memory.Of(&rows[i]) // the next pass reports problems
				memory.Reset()                 // they are only counted
				w.Add(list)
			}
		}
		return nil
	})
}

// fits refuses rows that say of single messages what a format has no place for, before
// any row is written.
func (e *export) fits(ctx context.Context) error {
	coarse := slices.DeleteFunc(exporters.FormatsOf(e.To), func(f exporters.Format) bool {
		return f.Credit == exporters.NoCredit || f.Credit == exporters.OfLosses
	})
	if len(coarse) == 0 || e.Advantages == exporters.OfTrajectory {
		return nil
	}
	for t, err := range e.from.Each(ctx, e.from.Base.All(), joined.Part(e.keep.Payload())) {
		if err != nil {
			return err
		}
		e.Redact.Trajectory(t)
		reason, err := e.keep.Refuses(ctx, t) // the next pass reports errors
		for _, f := range coarse {
			if what := f.Lacks(t); what != "" && reason == "" && err == nil {
				return e.refuse(t.TrajectoryID, f.Name, what, exporters.LacksHint)
			}
		}
	}
	return nil
}

// columns returns the columns of the payload that are read; nil for all.
func (e *export) columns() func(name string) bool {
	if e.Redact != nil || e.keep.Payload() || e.from.Base.Stage == "import" { // whose texts validate.Accepted compares
		return nil
	}
	return exporters.Reads(e.To)
}

// group exports the rows of a group that are kept.
func (e *export) group(ctx context.Context, rows []formats.Trajectory) error {
	e.runs++
	e.report.Rows += int64(len(rows))
	if e.Progress != nil {
		e.Progress(int64(len(rows)))
	}
	kept := rows[:0]
	for i := range rows {
		e.report.Redacted.Add(e.Redact.Trajectory(&rows[i]))
		reason, err := e.keep.Refuses(ctx, &rows[i])
		if err != nil {
			return fmt.Errorf("trajectory %q: %w", rows[i].TrajectoryID, err)
		}
		if reason != "" {
			e.report.Filtered[reason]++
			continue
		}
		if !fit.ValidText(&rows[i]) {
			return e.refuse(rows[i].TrajectoryID, "a file", "text that is not UTF-8", "rollmill audit names the column")
		}
		kept = append(kept, rows[i])
	}
	if len(kept) == 0 {
		return nil
	}
	if e.newer {
		e.dropNewer(kept)
	}
	e.Advantages.Apply(kept)
	sound, err := e.sound(kept)
	if err != nil {
		return err
	}
	return errors.Join(e.pass.Add(kept, sound), e.lost)
}

// sound checks a group for files that must be complete.
func (e *export) sound(rows []formats.Trajectory) (bool, error) {
	var whole []*exporters.Writer
	for _, w := range e.pass.Writers {
		if w.File.Format.Whole {
			whole = append(whole, w)
		}
	}
	if whole == nil {
		return true, nil
	}
	var problems []art.Problem
	art.Check(rows, art.Limits{}, func(p art.Problem) { problems = append(problems, p) })
	for _, w := range whole {
		if why := e.accepted.BlocksAny(rows, w.File.Format.Use); why != "" {
			problems = append(problems, art.Problem{Reason: why})
		}
	}
	if len(problems) == 0 {
		return true, nil
	}
	if p := problems[0]; !e.Lossy {
		return false, fault.Invalid(e.report.In,
			"--lossy leaves such groups out, and counts them; curate drops them", nil,
			"format %s cannot hold group %q: %s", whole[0].File.Name, rows[0].Group(),
			strings.TrimSpace(p.TrajectoryID+" "+p.Reason+" "+p.Detail))
	}
	for _, w := range whole {
		w.Skipped[problems[0].Reason]++
	}
	return false, nil
}

// dropNewer counts rows of a newer minor version, whose other columns are not exported,
// for formats that hold all columns.
func (e *export) dropNewer(rows []formats.Trajectory) {
	for i := range rows {
		for _, w := range e.pass.Writers {
			if p := w.File.Format.For; p == exporters.Own || p == exporters.Tables {
				e.drop(w.File, &exporters.Item{Rows: rows[i : i+1]}, "columns of a newer schema")
			}
		}
	}
}

// drop is told of a part of a row that a file cannot hold.
func (e *export) drop(f exporters.File, x *exporters.Item, part string) {
	if !e.Lossy {
		if e.lost == nil {
			e.lost = e.refuse(x.Rows[0].TrajectoryID, f.Name, part,
				"--lossy leaves such parts out, and counts them; rows, arrow and trajectories hold everything")
		}
		return
	}
	if e.losses[f.Name] == nil {
		e.losses[f.Name] = map[string]int64{}
	}
	e.losses[f.Name][part]++
}

func (e *export) refuse(id, format, part, hint string) error {
	return fault.Invalid(e.report.In, hint, nil, "trajectory %q: %s cannot hold %s", id, format, part)
}

// end ends the files. One without rows is an error, unless there was nothing to write.
func (e *export) end() error {
	if err := e.pass.End(); err != nil {
		return err
	}
	e.report.Notes = e.pass.Notes()
	if names := e.keep.Absent(); names != nil {
		e.report.Notes = append(e.report.Notes, "--where: no row has a value of "+strings.Join(names, ", "))
	}
	for _, w := range e.pass.Writers {
		if err := w.End(); err != nil {
			return err
		}
		if kept := e.report.Rows - sum(e.report.Filtered); kept > 0 && w.Rows == 0 {
			return fault.Invalid(e.report.In, "leave the format out, or change what group and curate give", nil,
				"%s would have no row: %s", w.Name, w.Skipped)
		}
		if why := w.Balance.OneClass(); why != "" {
			return fault.Invalid(e.report.In, "label with another --solved-threshold of group, or export more groups", nil,
				"%s: %s", w.Name, why)
		}
		if w.File.Format.Of != exporters.Rows && e.scattered() {
			return fault.Invalid(e.report.In,
				"export what curate makes of it: there the rows of a group are adjacent", nil,
				"format %s is made from whole groups, and the rows of a group are not adjacent", w.File.Name)
		}
		e.report.Files = append(e.report.Files, Written{Format: w.File.Name, Entry: w.Entry, Dropped: e.losses[w.File.Name]})
	}
	return nil
}

// tablesOf returns the tables that some files are made from. A filter would drop
// trajectories that these still name.
func tablesOf(ctx context.Context, d *dataset.Dataset, files []exporters.File, keep *expression.Filter) (formats.Tables, error) {
	out := formats.Tables{Columns: d.Columns}
	for _, name := range exporters.Compares(exporters.FormatsOf(files)) {
		if _, has := d.Tables[name]; !has {
			continue
		}
		if keep.Active() {
			return out, fault.Errorf(fault.Usage, "export a dataset that curate filtered",
				"--where and --status choose trajectories, and these formats are made from table %s", name)
		}
		switch name {
		case schema.TablePairs:
			out.Pairs = tableOf[formats.Pair](ctx, d, name)
		case schema.TableLabels:
			out.Labels = tableOf[formats.Label](ctx, d, name)
		}
	}
	return out, nil
}

func tableOf[T any](ctx context.Context, d *dataset.Dataset, table string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for row, err := range dataset.Each[T](ctx, d, table, dataset.Range{Rows: d.Tables[table].Rows}) {
			if err != nil {
				yield(none, err)
				return
			}
			if !yield(*row, nil) {
				return
			}
		}
	}
}

// scattered reports whether the rows were in more runs of one group each than there are groups.
func (e *export) scattered() bool {
	groups, has := e.from.Rows.Tables[schema.TableGroups]
	return has && e.from.Rows.Kind == schema.KindGroups && e.runs > groups.Rows
}
