package exporters

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/validate"
)

// Entry describes a file that was written.
type Entry struct {
	Name    string            `json:"name"`
	Rows    int64             `json:"rows"`
	Bytes   int64             `json:"bytes"`
	SHA256  string            `json:"sha256"`            // of a folder: of its documents, one after the other
	Of      string            `json:"of,omitempty"`      // the batch's table that it is made from; "" for the groups themselves
	Skipped Skipped           `json:"skipped,omitempty"` // those without a row, or their members, by reason
	Balance *trainset.Balance `json:"balance,omitempty"` // of labels

	Sequences *sequences.Tally `json:"sequences,omitempty"` // of a form of sequences: the tokens that went in and came out
}

// Place is where files are written.
type Place struct {
	Begin  func(name string) (io.Writer, error)             // begins a file, which the caller ends
	Put    func(folder, name string, document []byte) error // writes a document; nil when no file is a folder
	Accept validate.Accepted                                // findings with which rows are written all the same
	Drop   func(f File, x *Item, part string)               // is told of parts of rows that a file cannot hold; may be nil
}

// Writer writes one file of a pass.
type Writer struct {
	Entry
	File File

	Weights *sequences.Weights // of its sequences; nil: each has the weight 1

	place *Place
	out   *bufio.Writer
	sink  Sink
	sum   hash.Hash
	items int64

	memory sequences.Memory // of the item that is written
}

func newWriter(f File, tables formats.Tables, place *Place) *Writer {
	w := &Writer{File: f, place: place, sum: sha256.New(),
		Entry: Entry{Name: f.File, Of: f.Format.MadeOf(tables), Skipped: Skipped{}}}
	if f.Format.Of == Labels {
		w.Balance = &trainset.Balance{DesirableWeight: 1, UndesirableWeight: 1}
	}
	if f.Format.Loss != "" {
		w.Entry.Sequences = &sequences.Tally{}
	}
	return w
}

// open opens the file; an empty one is opened when it ends.
func (w *Writer) open() error {
	if w.sink != nil {
		return nil
	}
	counted := io.MultiWriter(w.sum, (*counter)(&w.Bytes))
	if w.File.Extension == Folder {
		w.sink = w.File.Format.Folder(func(name string, document []byte) error {
			counted.Write(document) // never fails
			return w.place.Put(w.Name, name, document)
		})
		return nil
	}
	to, err := w.place.Begin(w.Name)
	if err != nil {
		return err
	}
	w.out = bufio.NewWriterSize(io.MultiWriter(to, counted), 256<<10)
	w.sink = w.File.Format.Open(w.File.Extension)(w.out)
	return nil
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func (w *Writer) give(x Item) error {
	if err := w.open(); err != nil {
		return err
	}
	x.Before, x.Given, x.Skip, x.Tally = w.items, w.Rows, w.skip, w.Entry.Sequences
	x.Weights, x.memory = w.Weights, &w.memory
	x.Accept, x.Use = w.place.Accept, w.File.Format.Use
	w.memory.Reset()
	if w.place.Drop != nil {
		x.Drop = func(part string) { w.place.Drop(w.File, &x, part) }
	}
	err := w.sink.Give(&x)
	w.items++
	w.Rows = w.sink.Rows()
	if w.Balance != nil && w.Rows > x.Given {
		w.Balance.Add(x.Single.Label)
	}
	return err
}

func (w *Writer) skip(reason string) { w.Skipped[reason]++ }

// End ends the file, except what Place.Begin returned.
func (w *Writer) End() error {
	if err := w.open(); err != nil {
		return err
	}
	if err := w.sink.Close(); err != nil {
		return err
	}
	if w.out != nil {
		if err := w.out.Flush(); err != nil {
			return err
		}
	}
	w.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	return nil
}
