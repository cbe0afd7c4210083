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
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet"
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

// Drift compares the advantages of a batch with those that a trainer will
// compute from the rewards.
type Drift interface {
	Add(rows []formats.Trajectory) // a group
	Notes() []string
}

// Reads returns the columns of a trajectory's payload that some files are made
// from; nil for all.
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

// Item is one element of a source.
type Item struct {
	Rows   []formats.Trajectory // of Groups, Rows and Top; of Pairs and Labels those that are compared
	Pair   trainset.Preference
	Single trainset.Unpaired

	Columns formats.FieldNames // of the examples, that have other names than the defaults
	Weights *sequences.Weights // of the batch's sequences; nil: each has the weight 1
	Tally   *sequences.Tally   // counts what goes into sequences and comes out; nil: nobody asks

	Before int64               // items before it in the file
	Given  int64               // rows before it in the file
	Skip   func(reason string) // reports why the item gives no row
	Drop   func(part string)   // reports a part of the row that the form cannot hold; nil when the caller does not ask

	memory *sequences.Memory // of the item's sequences

	// the findings with which rows are written all the same, and what the rows train
	Accept validate.Accepted
	Use    validate.Use
}

// Blocked returns the finding for which one of the item's rows is not written, "" for
// none.
func (x *Item) Blocked() string { return x.Accept.BlocksAny(x.Rows, x.Use) }

// Template returns messages for a chat template (chat.Template) with the reason
// why they cannot be written.
func (x *Item) Template(messages []chat.Message) ([]jsontext.Raw, string) {
	return chat.Template(messages, x.Given%2 == 0)
}

// Templates is Template of several lists of messages, with the first reason.
func (x *Item) Templates(lists ...[]chat.Message) (made [][]jsontext.Raw, reason string) {
	for _, messages := range lists {
		one, why := x.Template(messages)
		made, reason = append(made, one), cmp.Or(reason, why)
	}
	return made, reason
}

// Lose reports a part of the item's row that the form cannot hold.
func (x *Item) Lose(part string) {
	if x.Drop != nil {
		x.Drop(part)
	}
}

// Sink writes one file.
type Sink interface {
	Give(x *Item) error
	Rows() int64
	Size() int64 // bytes so far, including those that are still to be written
	Close() error
}

// Lines returns a function that begins a file of JSON Lines.
func Lines[T any](rows func(*Item) []T) func(io.Writer) Sink {
	return RawLines(func(dst []byte, x *Item) (_ []byte, n int64, err error) {
		for _, r := range rows(x) {
			if dst, err = jsontext.AppendLine(dst, r); err != nil {
				return dst, n, err
			}
			n++
		}
		return dst, n, nil
	})
}

// RawLines is Lines for a function that appends its own lines and returns their
// number.
func RawLines(add func(dst []byte, x *Item) ([]byte, int64, error)) func(io.Writer) Sink {
	return func(out io.Writer) Sink { return &lines{out: out, add: add} }
}

// Table returns a function that begins a Parquet file.
func Table[T any](rows func(*Item) []T) func(io.Writer) Sink {
	return func(out io.Writer) Sink { return newTable(out, rows) }
}

// NotedTable is Table with a pair in the metadata of the file.
func NotedTable[T any](key, value string, rows func(*Item) []T) func(io.Writer) Sink {
	return func(out io.Writer) Sink {
		t := newTable(out, rows)
		t.Note(key, value)
		return t
	}
}

// One returns a function that makes a row from an item, or skips it for a reason.
func One[T any](row func(x *Item) (T, string)) func(*Item) []T {
	return func(x *Item) []T {
		r, reason := row(x)
		if reason == "" {
			reason = x.Blocked()
		}
		if reason != "" {
			x.Skip(reason)
			return nil
		}
		return []T{r}
	}
}

// noMessages is why a trajectory without messages is skipped.
const noMessages = "no_messages"

// EachRow returns a function that makes a row from each trajectory of an item that
// has messages.
func EachRow[T any](row func(t *formats.Trajectory, x *Item) T) func(*Item) []T {
	return func(x *Item) (out []T) {
		for i := range x.Rows {
			if len(x.Rows[i].Messages) == 0 {
				x.Skip(noMessages)
				continue
			}
			out = append(out, row(&x.Rows[i], x))
		}
		return out
	}
}

// Sequenced returns a function that makes rows from the sequences of each
// trajectory of an item. One that gives none is skipped with the reason, one of
// package sequences. rows returns none for a trajectory that its form cannot
// hold, and calls Skip; the rows are written before the next item.
func Sequenced[T any](rows func(x *Item, t *formats.Trajectory, list []sequences.Sequence) []T) func(*Item) []T {
	return func(x *Item) (out []T) {
		if x.memory == nil {
			x.memory = new(sequences.Memory)
		}
		for i := range x.Rows {
			list, problem := x.memory.Of(&x.Rows[i])
			if problem != nil {
				x.Skip(problem.Reason)
			} else if why := x.Accept.Blocks(&x.Rows[i], x.Use); why != "" {
				x.Skip(why)
				list = nil
			} else if made := rows(x, &x.Rows[i], list); len(made) > 0 {
				out = append(out, made...)
			} else {
				list = nil
			}
			x.Tally.Add(&x.Rows[i], list)
		}
		return out
	}
}

// maxBuffer is how large a buffer is kept for the next item: each format of an export
// keeps one.
const maxBuffer = 4 << 20

type lines struct {
	out        io.Writer
	add        func(dst []byte, x *Item) ([]byte, int64, error)
	buf        []byte
	rows, size int64
}

func (l *lines) Give(x *Item) error {
	buf, n, err := l.add(l.buf[:0], x)
	if err != nil {
		return err
	}
	if cap(buf) <= maxBuffer {
		l.buf = buf
	}
	l.rows += n
	l.size += int64(len(buf))
	_, err = l.out.Write(buf)
	return err
}

func (l *lines) Rows() int64  { return l.rows }
func (l *lines) Size() int64  { return l.size }
func (l *lines) Close() error { return nil }

type table[T any] struct {
	*parquet.Writer[T]
	rows func(*Item) []T
}

func newTable[T any](out io.Writer, rows func(*Item) []T) *table[T] {
	return &table[T]{parquet.NewWriter[T](out), rows}
}

func (t *table[T]) Give(x *Item) error {
	rows := t.rows(x)
	if len(rows) == 0 {
		return nil
	}
	return t.Write(rows)
}

// Skipped counts the items that gave no row, by reason.
type Skipped map[string]int64

// meanings are those of the reasons that do not explain themselves.
var meanings = map[string]string{
	"no_ids": "the engine gave no token ids", "no_token_ids": "the engine gave no token ids",
	"no_prompt": "the engine gave no ids of the prompt", "token_count": "ids and log probabilities differ in number",
	"logprob": "invalid log probabilities", "bad_logprob": "invalid log probabilities",
	"turns": "several messages were sampled", "branches": "sampled outside the main path", "tools": "the format cannot hold these tools",
	"others": "the policy did not sample every answer", "plain_assistant": "the policy did not sample every answer",
	"prefix_break": "a prompt does not continue the tokens before it", "singleton": "nothing to compare with",
	"too_few": "fewer than two scored members", "tie": "equal rewards", "prompts": "different prompts", "parts": "content that is not text",
	"unsolved": "the reward is below --solved-threshold",
}

// String returns how often each reason occurred, and what it means.
func (s Skipped) String() string {
	var reasons []string
	for _, r := range slices.Sorted(maps.Keys(s)) {
		text := fmt.Sprintf("%s %d", r, s[r])
		if meaning := meanings[r]; meaning != "" {
			text += " (" + meaning + ")"
		}
		reasons = append(reasons, text)
	}
	return strings.Join(reasons, ", ")
}
