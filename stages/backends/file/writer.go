package file

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/art"
	"github.com/rollmill/rollmill/formats/trl"
)

// entry describes a file in the manifest.
type entry struct {
	Name    string           `json:"name"`
	Rows    int64            `json:"rows"`
	Bytes   int64            `json:"bytes"`
	SHA256  string           `json:"sha256"`
	Of      string           `json:"of,omitempty"`      // the batch's table that it is made of; "" is the groups themselves
	Skipped map[string]int64 `json:"skipped,omitempty"` // of these, or their members, what gave no row, by reason
	Balance *trl.Balance     `json:"balance,omitempty"` // of labels
}

// writer writes one file.
type writer struct {
	entry
	kind   kind
	begin  func(name string) (io.Writer, error)
	out    *bufio.Writer
	sink   sink
	sum    hash.Hash
	groups int64
}

func (t *Trainer) writer(k kind, begin func(name string) (io.Writer, error)) *writer {
	w := &writer{kind: k, begin: begin, entry: entry{Name: k.file, Skipped: map[string]int64{}}}
	if k.of == ofPairs && t.tables.Pairs != nil || k.of == ofLabels && t.tables.Labels != nil {
		w.Of = string(k.of)
	}
	if k.of == ofLabels {
		w.Balance = &trl.Balance{DesirableWeight: 1, UndesirableWeight: 1}
	}
	return w
}

// open opens the file; an empty one is opened at its end.
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

// give makes rows of what the batch holds.
func (w *writer) give(b *batch) error {
	if err := w.open(); err != nil {
		return err
	}
	b.group, b.given, b.skip = w.groups, w.Rows, w.skip
	if w.Balance != nil {
		b.count = w.Balance.Add
	}
	n, err := w.sink.group(b)
	w.groups++
	w.Rows += n
	return err
}

func (w *writer) skip(reason string) { w.Skipped[reason]++ }

func (w *writer) end() error {
	if err := w.open(); err != nil {
		return err
	}
	if err := w.sink.close(); err != nil {
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
	return []string{fmt.Sprintf("%s has no row for some %s: %s", w.Name, what, counted(w.Skipped))}
}

// counted says how often each reason was given.
func counted(by map[string]int64) string {
	var reasons []string
	for _, r := range slices.Sorted(maps.Keys(by)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", r, by[r]))
	}
	return strings.Join(reasons, ", ")
}

// whole reports whether the file must hold every row or be refused.
func (k kind) whole() bool { return strings.HasPrefix(k.name, "art") }

// check counts a group and, for files that must be whole, refuses what cannot
// be written.
func (t *Trainer) check(rows []formats.Trajectory, load *formats.Load, report func(formats.Problem)) {
	if slices.ContainsFunc(t.kinds, kind.whole) {
		art.Check(rows, art.Limits{PlainAssistants: t.cfg.AcceptPlainAssistant}, load, report)
		return
	}
	load.Groups++
	load.Trajectories += int64(len(rows))
	for i := range rows {
		load.Sequences++
		load.Tokens += int64(rows[i].SampledTokens)
	}
}
