package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
)

// chosen is some members of one group, and its first row in a file.
type chosen struct {
	first int64
	rows  []formats.Trajectory
	keep  []int
}

// choose keeps a share of the groups, and of every fourth of these some rows.
func choose(seed uint64, groups [][]formats.Trajectory, share float64) (out []chosen) {
	r := rand.New(rand.NewPCG(seed, 1))
	first := int64(0)
	for _, rows := range groups {
		c := chosen{first: first, rows: rows}
		first += int64(len(rows))
		if r.Float64() >= share {
			continue
		}
		part := r.IntN(4) == 0
		for i := range rows {
			if !part || r.IntN(2) == 0 {
				c.keep = append(c.keep, i)
			}
		}
		out = append(out, c)
	}
	return out
}

// copied copies the chosen rows into a file with other rewards, and returns the
// expected rows.
func copied(t testing.TB, f *layout.File, from []chosen) (data []byte, want [][]formats.Trajectory, w *Writer[formats.Trajectory]) {
	t.Helper()
	var out bytes.Buffer
	w = NewWriter[formats.Trajectory](&out)
	heads, err := reader.NewReader[formats.Trajectory](f, 0, f.Rows())
	if err != nil {
		t.Fatal(err)
	}
	heads.Choose(func(l *layout.Leaf) bool { return !l.Payload })
	all := make([]formats.Trajectory, f.Rows())
	if _, err := heads.Read(all); err != nil {
		t.Fatal(err)
	}
	for n, c := range from {
		var at []int64
		var rows, full []formats.Trajectory
		for _, i := range c.keep {
			at = append(at, c.first+int64(i))
			head, whole := all[at[len(at)-1]], c.rows[i]
			if head.Messages != nil || head.Example != "" {
				t.Fatal("the head has a payload")
			}
			reward := float64(n) + float64(i)/10
			head.Reward, head.GroupID = &reward, fmt.Sprint("group ", n)
			whole.Reward, whole.GroupID = &reward, head.GroupID
			rows, full = append(rows, head), append(full, whole)
		}
		if err := w.Copy(f, at, rows); err != nil {
			t.Fatal(err)
		}
		want = append(want, full)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), want, w
}

func opened(t testing.TB, data []byte) *layout.File {
	t.Helper()
	f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "test.parquet")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Copying gives the same rows as decoding and writing, whatever is chosen from
// pages that groups share and from pages of one group, and also when the copy
// is copied.
func TestCopiedRowsAreTheSame(t *testing.T) {
	groups, _, f := epoch(t)
	wide := varied(60)
	for _, from := range []struct {
		name   string
		f      *layout.File
		groups [][]formats.Trajectory
	}{{"small and large groups", f, groups}, {"everything that rows have", opened(t, fileOf(t, wide)), wide}} {
		for seed, share := range []float64{0.3, 0.7, 1, 0.02} {
			if testing.Short() && share == 0.7 {
				continue // as 0.3: some rows of some pages
			}
			t.Run(fmt.Sprint(from.name, " ", share), func(t *testing.T) {
				if !Copyable[formats.Trajectory](from.f) {
					t.Fatal("a file of ours cannot be copied")
				}
				data, want, w := copied(t, from.f, choose(uint64(seed), from.groups, share))
				sameRows(t, flat(want), read[formats.Trajectory](t, data, 0, w.Rows()))
				if theirs, err := pq.Read[formats.Trajectory](bytes.NewReader(data), int64(len(data))); err != nil {
					t.Fatal(err)
				} else {
					sameRows(t, flat(want), theirs)
				}
				again := opened(t, data)
				if !Copyable[formats.Trajectory](again) {
					t.Fatal("a copy cannot be copied")
				}
				data, want, w = copied(t, again, choose(9, want, 0.6))
				sameRows(t, flat(want), read[formats.Trajectory](t, data, 0, w.Rows()))
			})
		}
	}
}

// sameRows compares digests first: a diff of many large rows takes its time.
func sameRows(t testing.TB, want, got []formats.Trajectory) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		a, b := want[i], got[i]
		a.SetPayloadDigest()
		b.SetPayloadDigest()
		if formats.Digest(&a) != formats.Digest(&b) || want[i].PayloadDigest != got[i].PayloadDigest ||
			want[i].StartedAt != got[i].StartedAt {
			same(t, want[i], got[i])
			t.Fatalf("row %d differs", i)
		}
	}
}

func TestArrowReadsACopy(t *testing.T) {
	wide := varied(60)
	data, want, _ := copied(t, opened(t, fileOf(t, wide)), choose(1, wide, 0.5))
	sameInArrow(t, flat(want), data)
}

// Pages of which every row is chosen are copied byte by byte.
func TestWholePagesAreCopiedUnchanged(t *testing.T) {
	_, data, f := epoch(t)
	groups, _ := madeEpoch()
	out, _, _ := copied(t, f, []chosen{{first: 33 * 8, rows: groups[33], keep: []int{0, 1, 2, 3, 4, 5, 6, 7}}})
	column := -1
	for i, l := range layout.Of[formats.Trajectory]().Leaves {
		if l.Name == "messages.content" {
			column = i
		}
	}
	src := opened(t, out)
	found, err := layout.PagesOf(src.Src, &src.Meta.RowGroups[0].Columns[column])
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 2 {
		t.Fatalf("a group of 16 MB has %d pages", len(found))
	}
	for i, p := range found {
		if page := out[p.Offset : p.Offset+int64(p.CompressedPageSize)]; !bytes.Contains(data, page) {
			t.Errorf("page %d of %d is not one of the source's", i, len(found))
		}
	}
}

// Written rows and rows copied from several files are in the order of the
// calls.
func TestCopyAmongWrites(t *testing.T) {
	a, b := varied(12), varied(24)[12:]
	fa, fb := opened(t, fileOf(t, a)), opened(t, fileOf(t, b))
	var out bytes.Buffer
	w := NewWriter[formats.Trajectory](&out)
	var want []formats.Trajectory
	copyRows := func(f *layout.File, first int64, rows []formats.Trajectory) {
		t.Helper()
		at := make([]int64, len(rows))
		for i := range at {
			at[i] = first + int64(i)
		}
		if err := w.Copy(f, at, rows); err != nil {
			t.Fatal(err)
		}
		want = append(want, rows...)
	}
	write := func(rows []formats.Trajectory) {
		t.Helper()
		if err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		want = append(want, rows...)
	}
	write(a[0])
	copyRows(fa, 8, a[2])
	copyRows(fb, 4, b[1])
	copyRows(fa, 4, a[1]) // back
	if !w.Holds(fa) || !w.Holds(fb) {
		t.Error("the files are not held")
	}
	write(b[3])
	if err := w.EndRowGroup(); err != nil {
		t.Fatal(err)
	}
	if w.Holds(fa) || w.Holds(fb) {
		t.Error("the files are held although their row group has ended")
	}
	copyRows(fb, 44, b[11])
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, want, read[formats.Trajectory](t, out.Bytes(), 0, w.Rows()))
}

// Pages are read from an object store with a few requests.
func TestCopyFetchesAhead(t *testing.T) {
	groups, data, _ := epoch(t)
	src := &counting{ReaderAt: bytes.NewReader(data)}
	f, err := layout.Open(src, int64(len(data)), "remote")
	if err != nil {
		t.Fatal(err)
	}
	f.Ahead = 32 << 20
	out, want, w := copied(t, f, choose(3, groups, 0.3))
	sameRows(t, flat(want), read[formats.Trajectory](t, out, 0, w.Rows()))
	if limit := int64(60 * len(rowGroups(f))); src.requests.Load() > limit {
		t.Errorf("%d requests for %d row groups", src.requests.Load(), len(rowGroups(f)))
	}
}

func TestForeignFilesAreNotCopyable(t *testing.T) {
	rows := flat(varied(4))
	type older struct {
		TrajectoryID string `parquet:"trajectory_id"`
		Example      string `parquet:"example" rollmill:"payload"`
	}
	for name, data := range map[string][]byte{
		"snappy":  written(t, rows, pq.Compression(&pq.Snappy)),
		"pages 1": written(t, rows, pq.DataPageVersion(1), pq.Compression(zstdCodec{})),
		"older":   fileOf(t, [][]older{{{"a", "{}"}}}),
	} {
		if Copyable[formats.Trajectory](opened(t, data)) {
			t.Errorf("%s: copyable", name)
		}
	}
}

// A damaged page is refused, wherever it is, and never copied.
func TestDamageIsNotCopied(t *testing.T) {
	wide := varied(20)
	data := fileOf(t, wide)
	f := opened(t, data)
	all := make([]chosen, len(wide))
	for i, rows := range wide {
		all[i] = chosen{int64(4 * i), rows, []int{0, 1, 2, 3}}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for c := range f.Leaves {
		l := layout.Of[formats.Trajectory]().Leaves[c]
		if !l.Payload {
			continue
		}
		_, end := layout.Span(&f.Meta.RowGroups[0].Columns[c].MetaData)
		broken := bytes.Clone(data)
		broken[end-1-r.Int64N(8)] ^= 0x40 // in the body of its last page
		w := NewWriter[formats.Trajectory](io.Discard)
		var err error
		src, openErr := layout.Open(bytes.NewReader(broken), int64(len(broken)), "broken.parquet")
		if openErr != nil {
			t.Fatal(openErr)
		}
		for _, c := range all {
			err = errors.Join(err, w.Copy(src, []int64{c.first, c.first + 1, c.first + 2, c.first + 3}, c.rows))
		}
		err = errors.Join(err, w.Close())
		refused(t, l.Name, err)
	}
}

// Copy adds one example group whose payload is in one file.
func (w *Writer[T]) Copy(f *layout.File, at []int64, rows []T) error {
	return w.CopyFrom([]Source{{f, at}}, rows)
}
