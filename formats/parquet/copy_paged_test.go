package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
	"github.com/rollmill/rollmill/storage/fault"
)

// answered is groups whose answers fill a page, several of which share one, and
// some that are null.
func answered() [][]formats.Trajectory {
	groups := varied(60)
	for g := range groups {
		for i := range groups[g] {
			switch g % 3 {
			case 0:
				groups[g][i].Answer = strings.Repeat(fmt.Sprint("word ", g, i, " "), 1000)
			case 1:
				groups[g][i].Answer = fmt.Sprint(g, i)
			}
		}
	}
	groups[3][0].Answer = ""
	return groups
}

// unpaged writes groups as versions before paged leaves did.
func unpaged(t *testing.T, groups [][]formats.Trajectory) *layout.File {
	layout.Paged["answer"] = false
	defer func() { layout.Paged["answer"] = true }()
	return opened(t, fileOf(t, groups))
}

func answers(w *Writer[formats.Trajectory]) *chunk {
	i := slices.IndexFunc(w.current.chunks, func(c *chunk) bool { return c.Name == "answer" })
	return w.current.chunks[i]
}

// The answers of a whole group are copied by the page; those of a part of one, of
// small groups and of older files are written anew. The rows are the same.
func TestAnswersAreCopiedByThePage(t *testing.T) {
	groups := answered()
	for name, c := range map[string]struct {
		f     *layout.File
		pages bool
	}{"ours": {opened(t, fileOf(t, groups)), true}, "of an older version": {unpaged(t, groups), false}} {
		t.Run(name, func(t *testing.T) {
			for _, part := range []bool{false, true} {
				var out bytes.Buffer
				w := NewWriter[formats.Trajectory](&out)
				var want []formats.Trajectory
				first := int64(0)
				for g, rows := range groups {
					at := make([]int64, len(rows))
					for i := range at {
						at[i] = first + int64(i)
					}
					first += int64(len(rows))
					heads := slices.Clone(rows)
					if part && len(rows) > 1 {
						at, heads = at[1:], heads[1:]
					}
					before := len(answers(w).pageRanges)
					if err := w.Copy(c.f, at, heads); err != nil {
						t.Fatal(err)
					}
					if w.current.rows == int64(len(heads)) { // of a new row group
						before = 0
					}
					whole := len(heads) == len(rows)
					if g%3 == 0 && (len(answers(w).pageRanges) > before) != (c.pages && whole) {
						t.Errorf("group %d: %d pages were copied", g, len(answers(w).pageRanges)-before)
					}
					want = append(want, heads...)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				sameRows(t, want, read[formats.Trajectory](t, out.Bytes(), 0, w.Rows()))
				if !part && c.pages {
					sameAnswers(t, c.f, opened(t, out.Bytes()))
				}
			}
		})
	}
}

// sameAnswers compares the bytes of the column answer of two files.
func sameAnswers(t *testing.T, a, b *layout.File) {
	t.Helper()
	var both [2][]byte
	for i, f := range []*layout.File{a, b} {
		leaf := slices.IndexFunc(f.Leaves, func(n *layout.Node) bool { return layout.ColumnName(n.Path) == "answer" })
		for g := range f.Meta.RowGroups {
			start, end := layout.Span(&f.Meta.RowGroups[g].Columns[leaf].MetaData)
			data := make([]byte, end-start)
			if err := layout.ReadAt(f.Src, data, start); err != nil {
				t.Fatal(err)
			}
			both[i] = append(both[i], data...)
		}
	}
	if !bytes.Equal(both[0], both[1]) {
		t.Error("the pages of a copy of all rows are others")
	}
}

// A damaged page of answers is an error that names the column.
func TestDamagedAnswerIsNotCopied(t *testing.T) {
	groups := answered()
	data := fileOf(t, groups)
	f := opened(t, data)
	leaf := slices.IndexFunc(f.Leaves, func(n *layout.Node) bool { return layout.ColumnName(n.Path) == "answer" })
	pages, err := layout.PagesOf(f.Src, &f.Meta.RowGroups[0].Columns[leaf])
	if err != nil {
		t.Fatal(err)
	}
	data[pages[0].Offset+int64(pages[0].CompressedPageSize)-5] ^= 1
	w := NewWriter[formats.Trajectory](io.Discard)
	at := make([]int64, len(groups[0]))
	for i := range at {
		at[i] = int64(i)
	}
	err = w.Copy(f, at, slices.Clone(groups[0]))
	err = errors.Join(err, w.Close())
	var bad *fault.Error
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "column answer") ||
		!strings.Contains(err.Error(), "checksum") {
		t.Errorf("the error is %v", err)
	}
}

// Skipping rows and reading others gives the rows that reading all gives, on a
// disk and fetched ahead.
func TestSkippedRows(t *testing.T) {
	long, data, _ := epoch(t)
	short := answered()
	for name, c := range map[string]struct {
		groups [][]formats.Trajectory
		data   []byte
	}{"several row groups": {long, data}, "everything that rows have": {short, fileOf(t, short)}} {
		all := flat(c.groups)
		for _, ahead := range []int64{0, 1 << 20} {
			for seed := range uint64(6) {
				f := opened(t, c.data)
				f.Ahead = ahead
				r, err := reader.NewReader[formats.Trajectory](f, 0, f.Rows())
				if err != nil {
					t.Fatal(err)
				}
				random := rand.New(rand.NewPCG(seed, 2))
				most := []int{4, 60, 6000}[seed%3]
				for at := 0; ; {
					n := random.IntN(most)
					if err := r.Skip(int64(n)); err == io.EOF && n > len(all)-at {
						break
					} else if err != nil {
						t.Fatal(name, err)
					}
					at += n
					rows := make([]formats.Trajectory, min(len(all)-at, random.IntN(20)))
					if _, err := r.Read(rows); err != nil {
						t.Fatal(name, err)
					}
					sameRows(t, all[at:at+len(rows)], rows)
					at += len(rows)
				}
			}
		}
	}
}

// Pages of answers stay in their file until the copy is closed, unless the row
// group is ended by hand: then no file is held.
func TestCopiedAnswersHoldTheirFile(t *testing.T) {
	groups := answered()
	f := opened(t, fileOf(t, groups))
	rows := flat(groups)
	at := make([]int64, len(rows))
	for i := range at {
		at[i] = int64(i)
	}
	var files [2]bytes.Buffer
	for i := range files {
		w := NewWriter[formats.Trajectory](&files[i])
		if err := w.Copy(f, at[:len(groups[0])], slices.Clone(groups[0])); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := w.EndRowGroup(); err != nil {
				t.Fatal(err)
			}
			if w.Holds(f) {
				t.Error("the file is held after the row group ended")
			}
		} else if err := errors.Join(w.flush(), w.awaitRowGroup()); err != nil || !w.Holds(f) || w.Deferred() >= w.Size() {
			t.Errorf("held: %v, waiting: %d of %d bytes, error %v", w.Holds(f), w.Deferred(), w.Size(), err)
		}
		size := w.Size()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if w.Holds(f) || w.Size() < size || w.Size() != int64(files[i].Len()) {
			t.Errorf("the closed file has %d bytes, before %d", w.Size(), size)
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("the two files differ")
	}
}
