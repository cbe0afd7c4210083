// Package examples reads the task dataset: JSON, JSON lines, CSV or Parquet,
// with the field names, filters and order of steps of the NeMo Agent Toolkit's
// evaluation datasets.
//
// It differs from that harness where the harness loses data silently: values
// stay as written (an answer "None" or an id "001" is kept), a row without id
// gets one, and every row that is dropped is in the Report with its reason. It
// does not open task files: the caller passes the bytes. It keeps what it read
// out of memory, in a Set.
package examples

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/records"
)

// readBytes is how many bytes are read at once. Tests reduce it.
var readBytes int

// Options say how to read a task file. The zero value reads structured rows
// with the default names and keeps rows without a question.
type Options struct {
	Format          string              // one of records.Formats(); "" chooses by the name's extension
	Names           formats.FieldNames  // empty names take their defaults; it is an error when no row has the column of another
	NoQuestions     bool                // the caller reads none: rows without one are not counted
	Unstructured    bool                // the question is the whole row, as JSON
	Allow           map[string][]string // column -> shell patterns; a row is kept when each column matches one
	Deny            map[string][]string // column -> shell patterns; a row is dropped when any column matches one
	RequireQuestion bool                // no question column is an error, and blank questions are dropped
}

// Why a row is dropped (Drop.Reason).
const (
	DropFiltered  = "filtered"       // the allow or deny filters refused it
	DropDuplicate = "duplicate_id"   // an earlier row has its id, and is the same task
	DropBlank     = "blank_question" // its question is missing, null or blank
)

// What is counted beside the reasons.
const (
	Kept  = "kept"  // rows that are examples
	Blank = "blank" // of them, those without a question
)

// Drop is a row that was dropped.
type Drop struct {
	Row    int    `json:"row"` // from 0, in the file
	ID     string `json:"id"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// listedDrops is how many drops a report lists.
const listedDrops = 100

// Report accounts for every row of the file: Rows is Kept plus the sum of Counts.
type Report struct {
	Rows     int              `json:"rows"`
	Kept     int              `json:"kept"`
	Blank    int              `json:"blank,omitempty"`   // of them, that have no question
	Counts   map[string]int64 `json:"counts,omitempty"`  // of drops, by reason
	Drops    []Drop           `json:"drops,omitempty"`   // the first 100
	Columns  []string         `json:"columns,omitempty"` // in order of first appearance
	Warnings []string         `json:"warnings,omitempty"`
}

func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// Read reads a whole task file of size bytes. name is its path or URI: its
// extension selects the format, and errors quote it. Rows are kept in the
// file's order. The caller closes the set.
//
// Rows are processed one by one, whatever their number, except those of a
// column map as pandas writes it, which is read into memory (see readJSON).
//
// A file that cannot be used as a whole (wrong format, no such column, two tasks with one id) is a
// fault.Error with file, row and cause; read errors of r are returned
// wrapped.
func Read(name string, r io.ReaderAt, size int64, o Options) (*Set, Report, error) {
	rows := records.File{Name: name, R: r, Size: size, Flag: "--examples-format", Buffer: readBytes}.Read(o.Format)
	p, err := newPicker(name, o)
	if err != nil {
		return nil, Report{}, err
	}
	if err := p.read(rows); err != nil {
		return nil, p.report, errors.Join(err, p.set.Close())
	}
	return p.set, p.report, nil
}

func (p *picker) read(rows iter.Seq2[records.Record, error]) error {
	for row, err := range rows {
		if err != nil {
			return err
		}
		if err := p.add(row); err != nil {
			return err
		}
	}
	return p.finish()
}
