// Package examples reads the task dataset: JSON, JSON lines, CSV or Parquet,
// with the field names, filters and order of steps of the NeMo Agent Toolkit's
// evaluation datasets.
//
// It differs from that harness where the harness loses data without a word:
// values stay as written (an answer "None" or an id "001" survives), a row
// without id gets one, and every row that is not kept is in the Report with
// its reason. It opens nothing: the caller brings the bytes.
//
// To add a format: write a function like readCSV that yields rows as JSON
// objects, and add a line to readers in format.go.
package examples

import (
	"fmt"
	"io"

	"github.com/rollmill/rollmill/formats"
)

// Options say how to read a task file. The zero value reads structured rows
// by the default names and keeps rows without a question.
type Options struct {
	Format          string              // one of Formats(); "" chooses by the name's extension
	Names           formats.FieldNames  // empty names take their defaults
	Unstructured    bool                // the question is the whole row, as JSON
	Allow           map[string][]string // column -> shell patterns; a row stays when each column matches one
	Deny            map[string][]string // column -> shell patterns; a row goes when any column matches one
	RequireQuestion bool                // no question column is an error, and blank questions are dropped
}

// Why a row is not kept (Drop.Reason).
const (
	DropFiltered  = "filtered"       // the allow or deny filters refused it
	DropDuplicate = "duplicate_id"   // an earlier row has its id
	DropBlank     = "blank_question" // its question is missing, null or blank
)

// Drop is a row that was not kept.
type Drop struct {
	Row    int    `json:"row"` // from 0, in the file
	ID     string `json:"id"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// Report says what became of every row of the file: Rows is Kept plus the
// number of Drops.
type Report struct {
	Rows     int      `json:"rows"`
	Kept     int      `json:"kept"`
	Drops    []Drop   `json:"drops,omitempty"`
	Columns  []string `json:"columns,omitempty"` // in order of first appearance
	Warnings []string `json:"warnings,omitempty"`
}

// Counts returns the number of drops by reason.
func (r Report) Counts() map[string]int64 {
	out := map[string]int64{}
	for _, d := range r.Drops {
		out[d.Reason]++
	}
	return out
}

func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// Read reads a whole task file of size bytes. name is its path or URI: it
// chooses the format, and errors quote it. Rows are kept in the file's order.
//
// What cannot be used as a whole (not the format it should be, no question
// column) is a formats.InputError with file, row and cause; read errors of r
// come back wrapped.
func Read(name string, r io.ReaderAt, size int64, o Options) ([]formats.Example, Report, error) {
	read, err := reader(name, o.Format)
	if err != nil {
		return nil, Report{}, err
	}
	p, err := newPicker(name, o)
	if err != nil {
		return nil, Report{}, err
	}
	for row, err := range read(source{name, r, size}) {
		if err != nil {
			return nil, p.report, err
		}
		if err := p.add(row); err != nil {
			return nil, p.report, err
		}
	}
	return p.finish()
}
