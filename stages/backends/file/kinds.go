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

// kind is one file: what a group adds to it, or why it adds nothing.
type kind struct {
	name string
	line func(dst []byte, rows []formats.Trajectory) (line []byte, skipped string, err error)
}

var kinds = []kind{
	{"art", func(dst []byte, rows []formats.Trajectory) ([]byte, string, error) {
		return append(art.AppendGroup(dst, rows), '\n'), "", nil
	}},
	{"trl-preference", func(dst []byte, rows []formats.Trajectory) ([]byte, string, error) {
		pair, skipped := trl.Pair(rows)
		return appendLine(dst, pair, skipped)
	}},
	{"trl-prompts", func(dst []byte, rows []formats.Trajectory) ([]byte, string, error) {
		prompt, skipped := trl.PromptOf(rows)
		return appendLine(dst, prompt, skipped)
	}},
}

// Kinds lists the files that can be written.
func Kinds() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}

func appendLine[T trl.Preference | trl.Prompt](dst []byte, row T, skipped string) ([]byte, string, error) {
	if skipped != "" {
		return dst, skipped, nil
	}
	dst, err := trl.AppendLine(dst, row)
	return dst, "", err
}

// entry describes a file in the manifest.
type entry struct {
	Name    string           `json:"name"`
	Rows    int64            `json:"rows"`
	Bytes   int64            `json:"bytes"`
	SHA256  string           `json:"sha256"`
	Skipped map[string]int64 `json:"skipped,omitempty"` // groups that gave no row, by reason
}

// writer writes one file.
type writer struct {
	entry
	kind kind
	open func(name string) (io.Writer, error)
	out  *bufio.Writer
	sum  hash.Hash
	buf  []byte
}

func (t *Trainer) writers(open func(name string) (io.Writer, error)) []*writer {
	var out []*writer
	for _, k := range t.kinds {
		out = append(out, &writer{kind: k, open: open, entry: entry{Name: k.name + ".jsonl", Skipped: map[string]int64{}}})
	}
	return out
}

// begin opens the file; an empty one is opened at its end.
func (w *writer) begin() error {
	if w.out != nil {
		return nil
	}
	f, err := w.open(w.Name)
	if err != nil {
		return err
	}
	w.sum = sha256.New()
	w.out = bufio.NewWriterSize(io.MultiWriter(f, w.sum), 256<<10)
	return nil
}

func (w *writer) group(rows []formats.Trajectory) error {
	if err := w.begin(); err != nil {
		return err
	}
	line, skipped, err := w.kind.line(w.buf[:0], rows)
	w.buf = line
	if err != nil {
		return err
	}
	if skipped != "" {
		w.Skipped[skipped]++
		return nil
	}
	w.Rows++
	w.Bytes += int64(len(line))
	_, err = w.out.Write(line)
	return err
}

func (w *writer) end() error {
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	w.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	return nil
}

func (w *writer) notes() []string {
	var reasons []string
	for _, r := range slices.Sorted(maps.Keys(w.Skipped)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", r, w.Skipped[r]))
	}
	if reasons == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s has no row for some groups: %s", w.Name, strings.Join(reasons, ", "))}
}

// check counts a group and, for files that must be whole, refuses what cannot
// be written.
func (t *Trainer) check(rows []formats.Trajectory, load *formats.Load, report func(formats.Problem)) {
	if slices.ContainsFunc(t.kinds, func(k kind) bool { return k.name == "art" }) {
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
