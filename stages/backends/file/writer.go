package file

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/exporters"
	"github.com/rollmill/rollmill/formats/exporters/art"
	"github.com/rollmill/rollmill/stages/backends"
)

// entry describes a file in the manifest.
type entry struct {
	Name    string            `json:"name"`
	Rows    int64             `json:"rows"`
	Bytes   int64             `json:"bytes"`
	SHA256  string            `json:"sha256"`
	Of      string            `json:"of,omitempty"`      // the batch's table that it is made from; "" for the groups themselves
	Skipped exporters.Skipped `json:"skipped,omitempty"` // those without a row, or their members, by reason
	Balance *chat.Balance     `json:"balance,omitempty"` // of labels
}

// writer writes one file.
type writer struct {
	entry
	kind  kind
	begin func(name string) (io.Writer, error)
	out   *bufio.Writer
	sink  exporters.Sink
	sum   hash.Hash
	items int64
}

func (t *Trainer) writer(k kind, begin func(name string) (io.Writer, error)) *writer {
	w := &writer{kind: k, begin: begin, entry: entry{Name: k.file, Of: k.format.MadeOf(t.tables), Skipped: exporters.Skipped{}}}
	if k.format.Of == exporters.Labels {
		w.Balance = &chat.Balance{DesirableWeight: 1, UndesirableWeight: 1}
	}
	return w
}

// open opens the file; an empty one is opened when it ends.
func (w *writer) open() error {
	if w.sink != nil {
		return nil
	}
	f, err := w.begin(w.Name)
	if err != nil {
		return err
	}
	w.sum = sha256.New()
	w.out = bufio.NewWriterSize(io.MultiWriter(f, w.sum, (*counter)(&w.Bytes)), 256<<10)
	w.sink = w.kind.open(w.out)
	return nil
}

// counter counts bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// give makes rows from an item.
func (w *writer) give(x exporters.Item) error {
	if err := w.open(); err != nil {
		return err
	}
	x.Before, x.Given, x.Skip = w.items, w.Rows, w.skip
	if w.Balance != nil {
		w.Balance.Add(x.Single.Label)
	}
	err := w.sink.Give(&x)
	w.items++
	w.Rows = w.sink.Rows()
	return err
}

func (w *writer) skip(reason string) { w.Skipped[reason]++ }

func (w *writer) end() error {
	if err := w.open(); err != nil {
		return err
	}
	if err := w.sink.Close(); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	w.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	return nil
}

func (w *writer) notes() []string {
	if len(w.Skipped) == 0 {
		return nil
	}
	what := "groups"
	if w.Of != "" {
		what = "rows of " + w.Of
	}
	return []string{fmt.Sprintf("%s has no row for some %s: %s", w.Name, what, w.Skipped)}
}

// check counts a group and, for files that must be complete, refuses rows that
// cannot be written.
func (t *Trainer) check(rows []formats.Trajectory, stats *backends.BatchStats, report func(backends.Problem)) {
	if slices.ContainsFunc(t.kinds, func(k kind) bool { return k.format.Whole }) {
		sequences, tokens := art.Check(rows, art.Limits{PlainAssistants: t.cfg.AcceptPlainAssistant}, func(p art.Problem) { report(backends.Problem(p)) })
		stats.Groups++
		stats.Trajectories += int64(len(rows))
		stats.Sequences += sequences
		stats.Tokens += tokens
		return
	}
	stats.AddGroup(rows)
	stats.Sequences += int64(len(rows))
}
