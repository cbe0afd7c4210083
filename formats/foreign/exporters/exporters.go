// Package exporters converts trajectories to the forms that other programs
// load: what a format is, what each is made from, and how its files are
// written. It opens no files; the caller passes a Place to write to.
//
// To add a format: add a folder of formats/foreign that declares a Format, and a
// line to formats/foreign, which tests it with foreigntest. Then run a golden test
// with -update: that of stages/backends/file for its Files, that of formats/foreign
// for its Exports. The kinds of file of backend file and the formats of export follow.
//
// What a format says in Omits, it leaves out of every row. What it cannot hold
// of one row only, it reports with Item.Drop: the caller refuses the row, or
// counts the part.
package exporters

import (
	"fmt"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/validate"
)

type Format struct {
	Name  string
	Help  string // a lower-case phrase: whose rows they are
	Omits string // columns that it leaves out of every row, such as "token ids"; "" when it does not say
	Of    Source
	For   Purpose
	Form  int  // of its rows: raise it when the same batch gives others; a submission is then another one
	Whole bool // the file must have every group, and each must pass art.Check, or none is written

	// Functions that begin a file; nil for a form that it does not have.
	Lines  func(io.Writer) Sink // JSON Lines
	Table  func(io.Writer) Sink // Parquet
	Other  func(io.Writer) Sink // a file with any other extension
	Folder func(Put) Sink       // a folder of documents

	Reads   func(name string) bool // columns of a trajectory's payload that its rows are made from; nil for all
	Columns []Column               // of its rows, where they are documented
	Notes   string                 // more about it, for its page

	Use    validate.Use        // what its rows train; 0 for nothing
	Loss   sequences.Aggregate // of a form of sequences: how its trainer adds up the loss of tokens; "" for other forms
	Credit Credit              // of its rows; the caller refuses those for which Lacks returns something

	Files   []Extension // the files of it that backend file and export write
	Exports []Extension // the files of it that only export writes
	// compares the advantages with those that its trainer computes; nil when it computes none from a file
	Drift func() Drift
}

// Purpose is what a format is for. Help lists formats by it.
type Purpose string

// The purposes, as they follow "for" in help.
const (
	Training Purpose = "trainers"
	Viewing  Purpose = "evaluation and trace viewers"
	Tables   Purpose = "tables and spreadsheets"
	Own      Purpose = "rollmill itself"
)

// Purposes lists the purposes in the order of help.
var Purposes = []Purpose{Training, Viewing, Tables, Own}

// TemplateNotes say what messages for chat templates are (Item.Template).
const TemplateNotes = `Messages are as the chat templates of Hugging Face models read them: the arguments
of a tool call are a JSON object, as engines give them to the template, and
reasoning is reasoning_content.

Load rows that call tools with datasets 4.7 or later, which keeps such messages as
JSON; earlier versions give arguments the keys of all rows. Every second row that
calls a tool has the key "json" in the message, by which datasets recognizes them;
templates do not read it. In Parquet a message is a value of type JSON, which
pyarrow 21 or later tells datasets.

Rows without a place are refused, and counted by reason:

  arguments  arguments that are not a JSON object
  numbers    a number in the arguments that datasets would change, in Parquet, too:
             it makes 0.7000000000000001 of 0.7, and keeps ten decimals
  tools      tools that are not a list of objects
`

// FormOf returns the newest form of some formats as the end of a submission's
// name; "" when each has its first.
func FormOf(list []Format) string {
	form := 0
	for _, f := range list {
		form = max(form, f.Form)
	}
	if form == 0 {
		return ""
	}
	return fmt.Sprintf(" form %d", form)
}

// Drift compares the advantages of a batch with those that a trainer will compute from the rewards.
type Drift interface {
	Add(rows []formats.Trajectory) // a group
	Notes() []string
}

// Reads returns the columns of a trajectory's payload that some files are made from; nil for all.
func Reads(files []File) func(name string) bool {
	for _, f := range files {
		if f.Format.Reads == nil {
			return nil
		}
	}
	return func(name string) bool {
		return slices.ContainsFunc(files, func(f File) bool { return f.Format.Reads(name) })
	}
}

// Source is what the rows of a format are made from.
type Source string

const (
	Groups Source = "groups"
	Rows   Source = "trajectories"     // each alone
	Top    Source = "best members"     // of each group
	Pairs  Source = schema.TablePairs  // or each group's best member against its worst
	Labels Source = schema.TableLabels // or labels by the advantage
)

// Help returns a phrase that follows the one of a format: what its rows are made
// from. It is "" when each group gives rows of its own.
func (s Source) Help() string {
	switch s {
	case Top:
		return "of each group's best members"
	case Pairs:
		return "from _pairs, else best against worst"
	case Labels:
		return "from _labels, else by the advantage"
	}
	return ""
}

// Column documents one column of a format.
type Column struct{ Name, Meaning string }
