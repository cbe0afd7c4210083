package hub

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/rows"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/hfhub"
)

// Trajectories is the table that is pushed by default: the unchanged rows.
var Trajectories = rows.Trajectories.Name

// tables are the formats that can be pushed, and the configs of the card.
var tables = pushed(foreign.Exporters)

func pushed(list []exporters.Format) []exporters.Format {
	out := slices.DeleteFunc(slices.Clone(list), func(f exporters.Format) bool { return f.Hub == 0 })
	slices.SortStableFunc(out, func(a, b exporters.Format) int { return cmp.Compare(a.Hub, b.Hub) })
	return out
}

// Tables lists the tables that can be pushed.
func Tables() []string {
	var out []string
	for _, t := range tables {
		out = append(out, t.Name)
	}
	return out
}

// batch is all files of a submission while it is sent.
type batch struct {
	*exporters.Walk
	t      *Trainer
	splits []*split // of each table, train and then validation
}

// split is a table's train or validation files.
type split struct {
	table   exporters.Format
	name    string
	limit   int64
	place   func() (place, error)
	open    exporters.Sink
	files   []place
	rows    []int64
	bytes   int64
	skipped exporters.Skipped
	balance chat.Balance       // of single answers
	tally   *sequences.Tally   // of sequences: the tokens that went in and came out
	weights *sequences.Weights // of sequences; nil: each has the weight 1
}

// place is where a file's bytes go.
type place interface {
	io.WriteCloser
	Size() int64
}

func onDisk() (place, error) { return hfhub.NewSpool() }

// counting returns a place that only counts bytes.
func counting() (place, error) { return new(counter), nil }

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
func (c *counter) Close() error                { return nil }
func (c *counter) Size() int64                 { return int64(*c) }

const (
	train      = "train"
	validation = "validation"
)

func (t *Trainer) begin(where func() (place, error)) *batch {
	b := &batch{Walk: exporters.NewWalk(t.formats, t.cfg.Choice, t.tables), t: t}
	for _, k := range t.formats {
		for _, name := range []string{train, validation} {
			s := &split{table: k, name: name, limit: t.cfg.MaxFileBytes, place: where, skipped: exporters.Skipped{}}
			if k.Loss != "" {
				s.tally = &sequences.Tally{}
			}
			b.splits = append(b.splits, s)
		}
	}
	return b
}

// beginWeighed returns a batch whose sequences have their weights. It reads the
// groups if there are any: what all sequences of a split add up to decides them.
func (t *Trainer) beginWeighed(groups backends.Groups) (*batch, error) {
	b := t.begin(onDisk)
	if t.cfg.RowWeight == "" {
		return b, nil
	}
	survey := t.begin(counting)
	defer survey.discard()
	if _, err := survey.fill(groups); err != nil {
		b.Close()
		return nil, err
	}
	for i, s := range survey.splits {
		if s.tally != nil {
			b.splits[i].weights = &sequences.Weights{Per: t.cfg.RowWeight, Totals: s.tally.Totals}
		}
	}
	return b, nil
}

// fill adds all groups, ends the files and returns the number of groups.
func (b *batch) fill(groups backends.Groups) (n int64, err error) {
	for rows, err := range groups {
		if err == nil {
			err = b.group(rows)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, b.end()
}

// group adds a group, its preferences and its single answers.
func (b *batch) group(rows []formats.Trajectory) error {
	name := train
	if formats.HeldOut(b.t.cfg.SplitSeed, b.t.cfg.Validation, rows[0].ExampleID) {
		name = validation
	}
	return b.Group(rows, func(of exporters.Source, x exporters.Item, reason string) error {
		return b.give(name, of, x, reason)
	})
}

func (b *batch) give(name string, of exporters.Source, x exporters.Item, reason string) error {
	for _, s := range b.splits {
		if s.name != name || s.table.Of != of {
			continue
		}
		if reason != "" {
			s.skipped[reason]++
			continue
		}
		x.Accept = b.t.accepted
		if err := s.give(x); err != nil {
			return err
		}
	}
	return nil
}

func (s *split) give(x exporters.Item) error {
	if s.open == nil {
		f, err := s.place()
		if err != nil {
			return err
		}
		s.files, s.open = append(s.files, f), s.table.Table(f)
	}
	x.Skip = func(reason string) { s.skipped[reason]++ }
	x.Tally, x.Weights, x.Use = s.tally, s.weights, s.table.Use
	given := s.open.Rows()
	if err := s.open.Give(&x); err != nil {
		return err
	}
	if s.table.Of == exporters.Labels && s.open.Rows() > given {
		s.balance.Add(x.Single.Label)
	}
	if s.open.Size() < s.limit {
		return nil
	}
	return s.end()
}

// end closes the open file. A file without rows is left out.
func (s *split) end() error {
	if s.open == nil {
		return nil
	}
	rows, last := s.open.Rows(), s.files[len(s.files)-1]
	if err := s.open.Close(); err != nil {
		return err
	}
	if s.open = nil; rows == 0 {
		s.files = s.files[:len(s.files)-1]
		return last.Close()
	}
	s.rows = append(s.rows, rows)
	s.bytes += last.Size()
	return nil
}

func (b *batch) end() error {
	if err := b.End(); err != nil {
		return err
	}
	for _, s := range b.splits {
		if err := s.end(); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) discard() {
	b.Close()
	for _, s := range b.splits {
		for _, f := range s.files {
			_ = f.Close()
		}
	}
}

func (b *batch) rows() (n int64) {
	for _, s := range b.splits {
		for _, rows := range s.rows {
			n += rows
		}
	}
	return n
}

func (b *batch) notes() (out []string) {
	out = b.Notes()
	for _, s := range b.splits {
		if len(s.skipped) > 0 {
			out = append(out, fmt.Sprintf("%s/%s has no row for some %s: %s", s.table.Name, s.name,
				b.t.madeOf(s.table), s.skipped))
		}
	}
	return out
}

func (b *batch) sequences() (out []backends.FileStats) {
	for _, s := range b.splits {
		if s.tally == nil || s.tally.In == 0 {
			continue
		}
		stats := backends.FileStats{Name: s.table.Name + "/" + s.name, Skipped: s.skipped, Sequences: s.tally}
		for _, rows := range s.rows {
			stats.Rows += rows
		}
		out = append(out, stats)
	}
	return out
}

// files returns the batch's files, under their paths in the repository.
func (b *batch) files(mark string) (out []hfhub.File, recorded []recordedFile) {
	for _, s := range b.splits {
		for n, f := range s.files {
			path := fmt.Sprintf("%s%s-%s%05d-of-%05d.parquet", folder(s.table.Name), s.name, mark, n, len(s.files))
			file := f.(*hfhub.Spool).File(path)
			out = append(out, file)
			recorded = append(recorded, recordedFile{path, s.rows[n], file.Size, file.SHA256})
		}
	}
	return out, recorded
}

// WriteRows writes the tables, under their paths in the repository.
func (t *Trainer) WriteRows(ctx context.Context, s backends.Submission, groups backends.Groups, to backends.Place) error {
	b, err := t.beginWeighed(groups)
	if err != nil {
		return err
	}
	defer b.discard()
	if _, err := b.fill(s.Guarded(groups, nil)); err != nil {
		return err
	}
	files, _ := b.files(t.mark(s))
	for _, f := range files {
		err := to.WriteFile(ctx, f.Path, func(w io.Writer) error {
			_, err := io.Copy(w, io.NewSectionReader(f.Content, 0, f.Size))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func folder(table string) string { return "data/" + table + "/" }
