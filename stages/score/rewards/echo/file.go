package echo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/stages/score"
)

// file is an open file of trainers.EchoRow. It keeps where each trajectory's rows are, and
// the rows that were read last: they are mostly asked for in the file's order.
type file struct {
	src   score.File
	rows  *parquet.File
	at    map[string][]int64 // rows of a trajectory
	first int64              // of kept
	kept  []trainers.EchoRow
}

const block = 256 // rows that are read together

// open reads the ids of the file at a URI.
func open(ctx context.Context, uri string, with func(context.Context, string) (score.File, error)) (*file, error) {
	src, err := with(ctx, uri)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, formats.Invalid(uri, "name the file that the trainer wrote", fs.ErrNotExist, "there is no such file")
	}
	if err != nil {
		return nil, err
	}
	f := &file{src: src, at: map[string][]int64{}}
	if f.rows, err = parquet.OpenForeign(src, src.Size(), uri, 0); err == nil {
		err = f.index()
	}
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return f, nil
}

// Columns returns what the file at a URI has of sequences: Old, New and so on.
func Columns(ctx context.Context, uri string, with func(context.Context, string) (score.File, error)) ([]string, error) {
	f, err := open(ctx, uri, with)
	if err != nil {
		return nil, err
	}
	defer f.src.Close() // read only
	var out []string
	for _, of := range []string{Old, New, Reference, Entropy, Clipped, Loss} {
		if slices.ContainsFunc(f.rows.Names(), func(c string) bool { return c == column[of] || strings.HasPrefix(c, column[of]+".") }) {
			out = append(out, of)
		}
	}
	return out, nil
}

var column = map[string]string{Old: "old_logprobs", New: "new_logprobs", Reference: "ref_logprobs", Entropy: "entropies", Clipped: "clip_share", Loss: "loss"}

// index notes the rows of each trajectory.
func (f *file) index() error {
	r, has, err := parquet.NewForeignReader[trainers.EchoRow](f.rows, func(c string) bool { return c == "trajectory_id" }, 0, f.rows.Rows())
	if err != nil {
		return err
	}
	defer r.Close()
	if !has["trajectory_id"] {
		return formats.Invalid(f.rows.Name(), "write a row for each row of the sequences, with its trajectory_id and sequence", nil,
			"it has no column trajectory_id")
	}
	rows := make([]trainers.EchoRow, block)
	for n := int64(0); n < f.rows.Rows(); {
		got, err := r.Read(rows)
		for _, row := range rows[:got] {
			f.at[row.TrajectoryID] = append(f.at[row.TrajectoryID], n)
			n++
		}
		if err != nil && !errors.Is(err, io.EOF) || got == 0 {
			return fmt.Errorf("%s: row %d: %w", f.rows.Name(), n, err)
		}
	}
	return nil
}

// of returns the rows of a trajectory.
func (f *file) of(id string) (out []trainers.EchoRow, err error) {
	for _, n := range f.at[id] {
		if n < f.first || n >= f.first+int64(len(f.kept)) {
			if err := f.read(n - n%block); err != nil {
				return nil, err
			}
		}
		out = append(out, f.kept[n-f.first])
	}
	return out, nil
}

// read reads the block that begins with a row.
func (f *file) read(first int64) error {
	n := min(block, f.rows.Rows()-first)
	r, _, err := parquet.NewForeignReader[trainers.EchoRow](f.rows, func(string) bool { return true }, first, n)
	if err != nil {
		return err
	}
	defer r.Close()
	rows := make([]trainers.EchoRow, n)
	for got := 0; got < len(rows); {
		k, err := r.Read(rows[got:])
		if got += k; err != nil && !errors.Is(err, io.EOF) || k == 0 {
			return fmt.Errorf("%s: row %d: %w", f.rows.Name(), first+int64(got), err)
		}
	}
	f.first, f.kept = first, rows
	return nil
}
