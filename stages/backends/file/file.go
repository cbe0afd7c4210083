// Package file is the trainer that only writes files, in the forms that trainers elsewhere load.
//
//	<format>.jsonl, .parquet   a batch in a format of formats/foreign, if it has Files
//	_files.json                what was written, and for which submission; comes last
//
// Preferences are those of the batch's table _pairs, and single answers those of its _labels;
// then _files.json says so. In a batch without such a table, each group's best is compared with
// its worst, and answers are good or bad by their advantage. For single answers _files.json has
// the weights that balance those in the file.
//
// A group, pair or label that a form cannot express gives no row there, and is
// counted by reason in _files.json and in the notes of the preflight. A file
// without any row is not written: for named kinds that is a problem; for all
// kinds, the default, the rest is written, and a note has the reasons.
//
// The same batch gives the same bytes. It does not train, so the policy stays the same.
//
// To add a file: add a format, as formats/foreign/exporters says; testdata/consumers has
// the checks with the consumers' own loaders.
package file

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/storage/fault"
)

// Config says which files to write.
type Config struct {
	Kinds []string `yaml:"kinds" json:"kinds"` // of Kinds; default all
	// of art: write rows whose input holds assistant messages
	AcceptPlainAssistant bool `yaml:"accept_plain_assistant" json:"accept_plain_assistant"`
	// of trl-sft and customizer-sft: conversations of a group; default 1, below 0 all
	trainset.Choice `yaml:",inline"`

	// of named kinds of sequences: what counts the same in the loss; "": every weight is 1
	RowWeight sequences.Per `yaml:"row_weight" json:"row_weight"`

	known Formats // what Kinds chooses from; the formats of the tree when it is zero
}

type Trainer struct {
	place  backends.Place
	files  []exporters.File
	any    bool // no kinds were named: every possible file is written
	cfg    Config
	tables formats.Tables

	accepted validate.Accepted

	weights map[string]*sequences.Weights // by name of a file; of the batch that is being written
}

// New checks the config. Nothing is written.
func New(cfg Config, place backends.Place) (*Trainer, error) {
	if place.Begin == nil || place.Read == nil {
		return nil, fmt.Errorf("file: no place to write to")
	}
	t := &Trainer{place: place, any: len(cfg.Kinds) == 0}
	known := cfg.registry()
	if t.any {
		cfg.Kinds = known.Files()
	}
	t.cfg = cfg
	for _, name := range cfg.Kinds {
		f, err := known.File(name)
		if err != nil {
			return nil, &Error{What: fmt.Sprintf("file: unknown kind %q (known: %s)", name,
				strings.Join(known.Files(), ", ")), Usage: true}
		}
		if cfg.RowWeight != "" && f.Format.Loss == "" {
			return nil, &Error{What: fmt.Sprintf("file: kind %s has no weights: its rows are not sequences of tokens, or "+
				"its trainer computes advantages from rewards", name),
				Help: "leave out --row-weight, or name kinds with weights: " + weighted(known), Usage: true}
		}
		t.files = append(t.files, f)
	}
	return t, nil
}

// weighted returns the --kinds that take weights.
func weighted(known Formats) string {
	var out []string
	for _, f := range known.files {
		if f.Format.Loss != "" {
			out = append(out, "--kinds "+f.Name)
		}
	}
	return strings.Join(out, " ")
}

// Error is the error of an invalid config.
type Error = remote.Error

// Stored returns the kinds by the names that identities hold.
func (t *Trainer) Stored() (names []string) {
	for _, f := range t.files {
		names = append(names, f.Stored())
	}
	return names
}

// Target names the place, and the kinds as the model.
func (t *Trainer) Target() receipts.Target {
	model := strings.Join(t.Stored(), "+") + exporters.FormOf(exporters.FormatsOf(t.files))
	if t.cfg.Best != 0 && t.cfg.Best != 1 {
		model += fmt.Sprintf(" best %d", t.cfg.Best)
	}
	return receipts.Target{Backend: "file", Address: t.place.URI, Model: model}
}

// NoRows is the reason of a file without a row.
const NoRows = "no_rows"

// Preflight writes every file without storing it.
func (t *Trainer) Preflight(_ context.Context, groups backends.Groups,
	report func(backends.Problem)) (backends.BatchStats, error) {
	stats, _, err := t.survey(groups, report)
	return stats, err
}

// survey writes every file without storing it, and returns the kinds that can
// be written. Every named kind must be; of all kinds, at least one. Sequences
// have the weight 1: what they add up to decides their weights.
func (t *Trainer) survey(groups backends.Groups, report func(backends.Problem)) (stats backends.BatchStats,
	fit []exporters.File, err error) {
	whole, unfit, lacking := true, exporters.Skipped{}, map[string]string{} // by name of a file
	drifts := t.drifts()
	w := t.pass(func(string) (io.Writer, error) { return io.Discard, nil })
	defer w.Close()
	for rows, err := range groups {
		if err != nil {
			return stats, nil, err
		}
		for _, d := range drifts {
			if d != nil {
				d.Add(rows)
			}
		}
		for _, f := range t.files {
			backends.CheckCredit(f.Format, rows, func(p backends.Problem) {
				if lacking[f.File] = p.Detail; !t.any {
					whole = false
					report(p)
				}
			})
		}
		sound := true
		t.check(rows, &stats, func(p backends.Problem) {
			sound = false
			if unfit[p.Reason]++; !t.any {
				whole = false
				report(p)
			}
		})
		if !sound && !t.any {
			continue
		}
		if err := w.Add(rows, sound); err != nil {
			return stats, nil, err
		}
	}
	if err := w.End(); err != nil && whole {
		return stats, nil, err
	}
	unwritten, partly, recomputed := map[string][]string{}, map[string][]string{}, []string(nil) // names of files, by the reason
	for i, one := range w.Writers {
		if err := one.End(); err != nil {
			return stats, nil, err
		}
		why := ""
		switch {
		case t.any && lacking[one.Name] != "":
			why = lacking[one.Name]
		case t.any && one.File.Format.Whole && len(unfit) > 0:
			why = unfit.String()
		case whole && stats.Groups > 0 && one.Rows == 0:
			why = cmp.Or(one.Skipped.String(), "the batch has nothing of the kind")
		case t.any && one.Balance != nil && one.Skipped[trainset.Turns] > 0:
			why = fmt.Sprintf("%d attempts of several answers, such as calls of tools, would be missing, and only the others be trained on "+
				"(--kinds %s writes them)", one.Skipped[trainset.Turns], one.File.Format.Name)
		default:
			why = one.Balance.OneClass()
		}
		stats.Files = append(stats.Files,
			backends.FileStats{Name: one.Name, Rows: one.Rows, Skipped: one.Skipped, Unfit: why,
				Sequences: one.Entry.Sequences})
		switch {
		case why == "":
			fit = append(fit, t.files[i])
			if drifts[i] != nil {
				recomputed = append(recomputed, drifts[i].Notes()...)
			}
			stats.Bytes += one.Bytes
			if len(one.Skipped) > 0 {
				what := "groups"
				if one.Of != "" {
					what = "rows of " + one.Of
				}
				text := fmt.Sprintf("no row for some %s: %s", what, one.Skipped)
				partly[text] = append(partly[text], one.Name)
			}
		case t.any:
			unwritten[why] = append(unwritten[why], one.Name)
		default:
			hint := "leave the kind out of --kinds, or change what group and curate give"
			if one.Rows > 0 {
				report(backends.Problem{Reason: NoRows, Detail: one.Name + ": " + why,
					Hint: "label with another --solved-threshold of group"})
				continue
			}
			if one.Skipped[sequences.NoIDs] > 0 {
				hint = "sample from an engine that returns token ids, which `rollmill check` tests, or leave the kind out of --kinds"
			}
			report(backends.Problem{Reason: NoRows, Detail: fmt.Sprintf("%s would have no row: %s", one.Name, why), Hint: hint})
		}
	}
	stats.Notes = byReason("%s: %s", partly)
	switch lost := byReason("not written: %s: %s", unwritten); {
	case t.any && stats.Groups > 0 && len(fit) == 0: // the error alone says it
		report(backends.Problem{Reason: NoRows, Detail: "no file can be written\n  " + strings.Join(lost, "\n  ")})
	default:
		stats.Notes = append(stats.Notes, lost...)
	}
	stats.Notes = append(append(stats.Notes, recomputed...), w.Notes()...)
	return stats, fit, nil
}

// byReason returns a note for each reason, with the files that have it.
func byReason(format string, files map[string][]string) (notes []string) {
	for _, why := range slices.Sorted(maps.Keys(files)) {
		notes = append(notes, fmt.Sprintf(format, strings.Join(files[why], ", "), why))
	}
	return notes
}

// drifts compares the advantages with those of the trainers that compute their
// own from the rewards in a file; nil for other files.
func (t *Trainer) drifts() (out []exporters.Drift) {
	out = make([]exporters.Drift, len(t.files))
	for i, f := range t.files {
		if f.Format.Drift != nil {
			out[i] = f.Format.Drift()
		}
	}
	return out
}

// Begin has nothing to prepare.
func (t *Trainer) Begin(_ context.Context, known *receipts.Policy) (backends.TrainerState, error) {
	return backends.TrainerState{Policy: known}, nil
}

// manifest is _files.json.
type manifest struct {
	Format string             `json:"format"`
	Token  string             `json:"token"`
	Groups int64              `json:"groups"`
	Files  []*exporters.Entry `json:"files"`
}

const (
	manifestFile   = "_files.json"
	manifestFormat = "rollmill-files/1"
)

// Submit writes all files, then their manifest.
func (t *Trainer) Submit(ctx context.Context, s backends.Submission, groups backends.Groups,
	event func(backends.JobEvent)) (backends.Outcome, error) {
	m, err := t.written(ctx, s, groups, event)
	if err != nil {
		return backends.Clean("the files were not written"), err
	}
	return t.outcome(m, s), nil
}

// Write is Submit for a trainer that gives the files to a program: it returns what
// was written, in the order of Config.Kinds, and the URI of each file.
func (t *Trainer) Write(ctx context.Context, s backends.Submission, groups backends.Groups) (files []*exporters.Entry,
	uris []string, err error) {
	m, err := t.written(ctx, s, groups, func(backends.JobEvent) {})
	if err != nil {
		return nil, nil, err
	}
	return m.Files, t.outcome(m, s).Files, nil
}

func (t *Trainer) written(ctx context.Context, s backends.Submission, groups backends.Groups,
	event func(backends.JobEvent)) (*manifest, error) {
	to := t
	if t.any || t.cfg.RowWeight != "" {
		stats, fit, err := t.survey(groups, func(backends.Problem) {})
		if err != nil {
			return nil, err
		}
		some := *t
		some.weights, to = t.weighed(stats.Files), &some
		if t.any {
			some.files = fit
		}
	}
	return to.write(ctx, s, groups, event)
}

// WriteRows writes the files at another place.
func (t *Trainer) WriteRows(ctx context.Context, s backends.Submission, groups backends.Groups, to backends.Place) error {
	_, err := t.Elsewhere(to).Submit(ctx, s, groups, func(backends.JobEvent) {})
	return err
}

// Elsewhere returns the trainer for another place.
func (t *Trainer) Elsewhere(to backends.Place) *Trainer {
	there := *t
	there.place = to
	return &there
}

func (t *Trainer) write(ctx context.Context, s backends.Submission, groups backends.Groups,
	event func(backends.JobEvent)) (*manifest, error) {
	drafts := map[string]backends.Draft{}
	defer func() {
		for _, d := range drafts {
			_ = d.Discard()
		}
	}()
	w := t.pass(func(name string) (io.Writer, error) {
		d, err := t.place.Begin(ctx)
		if err != nil {
			return nil, err
		}
		drafts[name] = d
		return d, nil
	})
	defer w.Close()
	for _, one := range w.Writers {
		one.Weights = t.weights[one.Name]
	}
	m := &manifest{Format: manifestFormat, Token: s.Token}
	for rows, err := range s.Guarded(groups, event) {
		if err != nil {
			return nil, err
		}
		m.Groups++
		if err := w.Add(rows, true); err != nil {
			return nil, err
		}
	}
	if err := w.End(); err != nil {
		return nil, err
	}
	for _, one := range w.Writers {
		if err := one.End(); err != nil {
			return nil, err
		}
		if m.Groups > 0 && one.Rows == 0 {
			return nil, fault.Invalid(s.Curated, "leave the kind out of --kinds", nil,
				"%s would have no row: %s", one.Name,
				one.Skipped)
		}
		if err := s.Fence(); err != nil { // existing files are replaced
			return nil, err
		}
		if err := drafts[one.Name].Replace(ctx, one.Name); err != nil {
			return nil, err
		}
		m.Files = append(m.Files, &one.Entry)
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	return m, t.place.WriteFile(ctx, manifestFile, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

func (t *Trainer) outcome(m *manifest, s backends.Submission) backends.Outcome {
	out := backends.Outcome{State: receipts.JobCompleted, Policy: s.Before.Policy, Metrics: map[string]float64{}}
	var notes []string
	handed := map[string]receipts.Balance{}
	for _, f := range m.Files {
		out.Files = append(out.Files, t.place.FileURI(f.Name))
		out.Metrics[f.Name] = float64(f.Rows)
		notes = append(notes, fmt.Sprintf("%s %d rows", f.Name, f.Rows))
		if f.Sequences != nil {
			handed[f.Name] = f.Sequences.Balance()
		}
	}
	out.Message = strings.Join(append([]string{strings.Join(notes, ", ")}, sequences.Texts(handed)...), "; ")
	return out
}

// Resolve looks for the manifest, which is written last. Without it nothing
// counts, and writing again gives the same files.
func (t *Trainer) Resolve(ctx context.Context, s backends.Submission) (backends.Outcome, error) {
	unwritten := backends.Clean("the files are not written whole")
	data, err := t.place.Read(ctx, manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return unwritten, nil
	}
	if err != nil {
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	var m manifest
	if json.Unmarshal(data, &m) != nil || m.Format != manifestFormat || m.Token != s.Token {
		return unwritten, nil
	}
	return t.outcome(&m, s), nil
}
