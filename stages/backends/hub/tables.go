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
	open func(w io.Writer) sink
}

var tables = []table{
	{Trajectories, rowsOf(func(rows []formats.Trajectory, _ func(string)) []formats.Trajectory { return rows })},
	{"trl-preference", rowsOf(one(trl.Pair))},
	{"trl-sft", rowsOf(one(trl.Best))},
	{"trl-kto", rowsOf(trl.UnpairedOf)},
	{"trl-prompts", rowsOf(one(trl.PromptOf))},
}

// Tables lists what can be pushed.
func Tables() []string {
	var out []string
	for _, t := range tables {
		out = append(out, t.name)
	}
	return out
}

// sink writes a table's rows of each group into one Parquet file.
type sink interface {
	group(rows []formats.Trajectory, skip func(reason string)) error
	Rows() int64
	Size() int64
	Close() error
}

func rowsOf[T any](f func([]formats.Trajectory, func(string)) []T) func(io.Writer) sink {
	return func(w io.Writer) sink { return &written[T]{parquet.NewWriter[T](w), f} }
}

func one[T any](f func([]formats.Trajectory) (T, string)) func([]formats.Trajectory, func(string)) []T {
	return func(rows []formats.Trajectory, skip func(string)) []T {
		r, reason := f(rows)
		if reason != "" {
			skip(reason)
			return nil
		}
		return []T{r}
	}
}

type written[T any] struct {
	*parquet.Writer[T]
	of func([]formats.Trajectory, func(string)) []T
}

func (w *written[T]) group(rows []formats.Trajectory, skip func(string)) error {
	out := w.of(rows, skip)
	if len(out) == 0 {
		return nil
	}
	return w.Write(out)
}

// batch is all files of a submission on their way.
type batch struct {
	t      *Trainer
	splits []*split // of each table, train and then validation
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
	for _, k := range t.tables {
		for _, name := range []string{train, validation} {
			b.splits = append(b.splits, &split{table: k, name: name, limit: t.cfg.MaxFileBytes, place: where, skipped: map[string]int64{}})
		}
	}
	return b
}

func (b *batch) group(rows []formats.Trajectory) error {
	name := train
	if formats.HeldOut(b.t.cfg.SplitSeed, b.t.cfg.Validation, rows[0].ExampleID) {
		name = validation
	}
	for _, s := range b.splits {
		if s.name != name {
			continue
		}
		if err := s.group(rows); err != nil {
			return err
		}
	}
	return nil
}

func (s *split) group(rows []formats.Trajectory) error {
	if s.open == nil {
		f, err := s.place()
		if err != nil {
			return err
		}
		s.files, s.open = append(s.files, f), s.table.open(f)
	}
	if err := s.open.group(rows, func(reason string) { s.skipped[reason]++ }); err != nil || s.open.Size() < s.limit {
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
	for _, s := range b.splits {
		if err := s.end(); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) discard() {
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
	for _, s := range b.splits {
		var reasons []string
		for _, r := range slices.Sorted(maps.Keys(s.skipped)) {
			reasons = append(reasons, fmt.Sprintf("%s %d", r, s.skipped[r]))
		}
		if reasons != nil {
			out = append(out, fmt.Sprintf("%s/%s has no row for some groups: %s", s.table.name, s.name, strings.Join(reasons, ", ")))
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
