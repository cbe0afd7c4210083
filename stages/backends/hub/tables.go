package hub

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/trl"
	"github.com/rollmill/rollmill/stages/backends/repo"
)

// Trajectories is the table that holds the rows as they are.
const Trajectories = "trajectories"

// table is a shape of rows, and a config of the card.
type table struct {
	name string
	of   source
	open func(w io.Writer) sink
}

// source is what a table's rows are made of.
type source string

const (
	ofGroups source = "groups"
	ofTop    source = "best members"      // of each group: Config.Best
	ofPairs  source = formats.TablePairs  // or of each group's best against its worst
	ofLabels source = formats.TableLabels // or of advantages
)

var tables = []table{
	{Trajectories, ofGroups, rowsOf(func(x item, _ func(string)) []formats.Trajectory { return x.rows })},
	{"trl-preference", ofPairs, rowsOf(func(x item, _ func(string)) []trl.Preference { return []trl.Preference{x.pair} })},
	{"trl-sft", ofTop, rowsOf(one(trl.Best))},
	{"trl-kto", ofLabels, rowsOf(func(x item, _ func(string)) []trl.Unpaired { return []trl.Unpaired{x.single} })},
	{"trl-prompts", ofGroups, rowsOf(one(trl.PromptOf))},
}

// item is a group, or one preference or single answer of it.
type item struct {
	rows   []formats.Trajectory
	pair   trl.Preference
	single trl.Unpaired
}

// Tables lists what can be pushed.
func Tables() []string {
	var out []string
	for _, t := range tables {
		out = append(out, t.name)
	}
	return out
}

// sink writes a table's rows into one Parquet file.
type sink interface {
	give(x item, skip func(reason string)) error
	Rows() int64
	Size() int64
	Close() error
}

func rowsOf[T any](f func(item, func(string)) []T) func(io.Writer) sink {
	return func(w io.Writer) sink { return &written[T]{parquet.NewWriter[T](w), f} }
}

func one[T any](f func([]formats.Trajectory) (T, string)) func(item, func(string)) []T {
	return func(x item, skip func(string)) []T {
		r, reason := f(x.rows)
		if reason != "" {
			skip(reason)
			return nil
		}
		return []T{r}
	}
}

type written[T any] struct {
	*parquet.Writer[T]
	of func(item, func(string)) []T
}

func (w *written[T]) give(x item, skip func(string)) error {
	out := w.of(x, skip)
	if len(out) == 0 {
		return nil
	}
	return w.Write(out)
}

// batch is all files of a submission on their way.
type batch struct {
	t      *Trainer
	splits []*split // of each table, train and then validation
	pairs  *trl.Preferences
	labels *trl.Labels
}

// split is a table's train or validation files.
type split struct {
	table   table
	name    string
	limit   int64
	place   func() (place, error)
	open    sink
	files   []place
	rows    []int64
	bytes   int64
	skipped map[string]int64
	balance trl.Balance // of single answers
}

// place is where a file's bytes go.
type place interface {
	io.WriteCloser
	Size() int64
}

func onDisk() (place, error) { return repo.NewSpool() }

// nowhere counts.
func nowhere() (place, error) { return new(counter), nil }

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
func (c *counter) Close() error                { return nil }
func (c *counter) Size() int64                 { return int64(*c) }

const (
	train      = "train"
	validation = "validation"
)

func (t *Trainer) begin(where func() (place, error)) *batch {
	b := &batch{t: t}
	if t.wants(ofPairs) {
		b.pairs = trl.NewPreferences(t.beside)
	}
	if t.wants(ofLabels) {
		b.labels = trl.NewLabels(t.beside)
	}
	for _, k := range t.tables {
		for _, name := range []string{train, validation} {
			b.splits = append(b.splits, &split{table: k, name: name, limit: t.cfg.MaxFileBytes, place: where, skipped: map[string]int64{}})
		}
	}
	return b
}

// group adds a group, its preferences and its single answers.
func (b *batch) group(rows []formats.Trajectory) error {
	name := train
	if formats.HeldOut(b.t.cfg.SplitSeed, b.t.cfg.Validation, rows[0].ExampleID) {
		name = validation
	}
	if err := b.give(name, ofGroups, item{rows: rows}, ""); err != nil {
		return err
	}
	err := trl.EachTop(rows, b.t.cfg.Best, func(some []formats.Trajectory) error { return b.give(name, ofTop, item{rows: some}, "") })
	if err != nil {
		return err
	}
	if b.pairs != nil {
		if err := b.pairs.Of(rows, func(p trl.Preference, reason string) error { return b.give(name, ofPairs, item{pair: p}, reason) }); err != nil {
			return err
		}
	}
	if b.labels == nil {
		return nil
	}
	return b.labels.Of(rows, func(u trl.Unpaired, reason string) error { return b.give(name, ofLabels, item{single: u}, reason) })
}

func (b *batch) give(name string, of source, x item, reason string) error {
	for _, s := range b.splits {
		if s.name != name || s.table.of != of {
			continue
		}
		if reason != "" {
			s.skipped[reason]++
			continue
		}
		if of == ofLabels {
			s.balance.Add(x.single.Label)
		}
		if err := s.give(x); err != nil {
			return err
		}
	}
	return nil
}

func (s *split) give(x item) error {
	if s.open == nil {
		f, err := s.place()
		if err != nil {
			return err
		}
		s.files, s.open = append(s.files, f), s.table.open(f)
	}
	if err := s.open.give(x, func(reason string) { s.skipped[reason]++ }); err != nil || s.open.Size() < s.limit {
		return err
	}
	return s.end()
}

// end closes the file that is open. One without rows is none.
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
	if b.pairs != nil {
		if err := b.pairs.End(); err != nil {
			return err
		}
	}
	if b.labels != nil {
		if err := b.labels.End(); err != nil {
			return err
		}
	}
	for _, s := range b.splits {
		if err := s.end(); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) discard() {
	b.close()
	for _, s := range b.splits {
		for _, f := range s.files {
			_ = f.Close()
		}
	}
}

// close ends the walks along the batch's tables.
func (b *batch) close() {
	if b.pairs != nil {
		b.pairs.Close()
	}
	if b.labels != nil {
		b.labels.Close()
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
	for _, s := range b.splits {
		var reasons []string
		for _, r := range slices.Sorted(maps.Keys(s.skipped)) {
			reasons = append(reasons, fmt.Sprintf("%s %d", r, s.skipped[r]))
		}
		if reasons != nil {
			out = append(out, fmt.Sprintf("%s/%s has no row for some %s: %s", s.table.name, s.name, b.t.madeOf(s.table), strings.Join(reasons, ", ")))
		}
	}
	return out
}

// files are the batch's, under their paths in the repository.
func (b *batch) files(mark string) (out []repo.File, recorded []recordedFile) {
	for _, s := range b.splits {
		for n, f := range s.files {
			path := fmt.Sprintf("%s%s-%s%05d-of-%05d.parquet", folder(s.table.name), s.name, mark, n, len(s.files))
			file := f.(*repo.Spool).File(path)
			out = append(out, file)
			recorded = append(recorded, recordedFile{path, s.rows[n], file.Size, file.SHA256})
		}
	}
	return out, recorded
}

func folder(table string) string { return "data/" + table + "/" }
