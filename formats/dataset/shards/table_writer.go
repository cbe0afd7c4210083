package shards

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"reflect"
	"sort"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage"
)

// A part ends, and the next begins, when it has this many bytes, row groups or
// light chunks. The writer of a part holds the light chunks in memory, which
// are nearly all bytes of rows with a small payload; a reader holds the
// positions of all row groups.
const (
	partBytes  = 256 << 20
	partGroups = 256
	partLight  = 24 << 20
)

// table is the state of one table of a shard, independent of its row kind.
type table struct {
	name      string
	baseFirst int64
	rows      int64
	digest    formats.RowsDigest
	parts     []manifest.Part
	finish    func(ctx context.Context) error // ends the part that is being written
	abandon   func()                          // drops that part
}

// TableWriter writes the rows of one table of one shard.
type TableWriter[T any] struct {
	s     *Shard
	t     *table
	err   error // from NewTable; returned by the first Write and by Commit
	draft *storage.Draft
	hash  hash.Hash
	w     *parquet.Writer[T]
	seq   int  // of the next part
	open  bool // the group of the last rows goes on
}

// NewTable returns the writer of a table; "" is the main one. For a thin main
// table, baseFirst is the base row that its first row belongs to; else -1. A
// table without rows still gets one part, so that every reader finds its
// columns.
func NewTable[T any](s *Shard, name string, baseFirst int64) *TableWriter[T] {
	w := &TableWriter[T]{s: s, t: &table{name: name, baseFirst: baseFirst}}
	w.t.finish, w.t.abandon = w.finish, w.abandon
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.upToDate || s.ended:
		w.err = fmt.Errorf("write %q: the shard has ended", s.bucket.URI())
	case s.tables[name] != nil:
		w.err = fmt.Errorf("write %q: table %q is already open", s.bucket.URI(), name)
	default:
		s.tables[name] = w.t
	}
	return w
}

// Write adds rows that belong together: in a wide or thin main table, one whole
// group for each call (it stays in one row group, and its heavy pages begin
// with it). Write may change rows: it sets their payload digest and redacts
// secrets of the process.
func (w *TableWriter[T]) Write(ctx context.Context, rows []T) error {
	return w.write(ctx, rows, true)
}

func (w *TableWriter[T]) write(ctx context.Context, rows []T, first bool) error {
	if w.err != nil || len(rows) == 0 {
		return w.err
	}
	secret.Rows(w.s.secrets, rows)
	setDigests(rows)
	return w.add(ctx, rows, func() error { return w.w.WritePiece(rows, first) })
}

// WritePiece adds rows of a group that is not in memory as a whole, which gets a row group of its own. last says
// that no more of them follow.
func (w *TableWriter[T]) WritePiece(ctx context.Context, rows []T, last bool) error {
	first := !w.open
	if first && w.EndRowGroup() != nil {
		return w.err
	}
	w.open = true // no part ends
	err := w.write(ctx, rows, first)
	if w.open = !last; err == nil && last {
		err = w.EndRowGroup()
	}
	if err != nil || !last || w.w.Ended() < partGroups-1 {
		return err
	}
	return w.end(ctx)
}

// WriteGroups adds several groups, of which each ends before the row with its
// index in ends. The dataset is the same as after a Write for each; groups of few
// small rows take less time. Write describes what a group is, and what may change
// in its rows.
func (w *TableWriter[T]) WriteGroups(ctx context.Context, rows []T, ends []int) error {
	for from := 0; len(ends) > 0 && w.err == nil; {
		n := 1 // how many of the groups fit into the row group, at least one
		if w.w != nil {
			n = max(1, sort.Search(len(ends), func(i int) bool { return !w.w.Fits(ends[i] - from) }))
		}
		ok, err := w.together(ctx, rows[:ends[n-1]], from, ends[:n])
		for _, end := range ends[:n] {
			if err == nil && !ok {
				err = w.Write(ctx, rows[from:end])
			}
			from = end
		}
		if err != nil {
			return err
		}
		ends = ends[n:]
	}
	return w.err
}

// together adds the groups of the rows from an index on, if all fit into the row
// group and none of them can end the part. Else it returns false.
func (w *TableWriter[T]) together(ctx context.Context, all []T, from int, ends []int) (bool, error) {
	rows := all[from:]
	if w.w == nil || !w.w.Fits(len(rows)) || w.w.Size() >= w.s.partSize-2*parquet.MaxTogether {
		return false, ctx.Err()
	}
	secret.Rows(w.s.secrets, rows)
	setDigests(rows)
	relative := make([]int, len(ends))
	for i, end := range ends {
		relative[i] = end - from
	}
	if ok, err := w.w.WriteGroups(rows, relative); err != nil {
		return false, w.fail(err)
	} else if !ok {
		return false, nil
	}
	w.count(rows)
	return true, ctx.Err()
}

// count adds rows to the number and the digest of the table's rows.
func (w *TableWriter[T]) count(rows []T) {
	formats.AddRows(&w.t.digest, rows)
	w.t.rows += int64(len(rows))
}

func setDigests[T any](rows []T) {
	for i := range rows {
		if t, wide := any(&rows[i]).(*formats.Trajectory); wide {
			t.SetPayloadDigest()
		}
	}
}

// add writes rows to the part by calling write and counts them.
func (w *TableWriter[T]) add(ctx context.Context, rows []T, write func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.w != nil && !w.open && w.w.Ended() >= partGroups-1 && !w.w.Fits(len(rows)) {
		if err := w.end(ctx); err != nil {
			return err
		}
	}
	if w.w == nil {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	var digests sync.WaitGroup
	digests.Go(func() { w.count(rows) })
	err := write()
	if digests.Wait(); err != nil {
		return w.fail(err)
	}
	if w.open || w.w.Size() < w.s.partSize && w.w.Deferred() < w.s.partHeld {
		return nil
	}
	return w.end(ctx)
}

// begin opens the next part.
func (w *TableWriter[T]) begin(ctx context.Context) error {
	d, err := w.s.bucket.Draft(ctx)
	if err != nil {
		return w.fail(err)
	}
	w.draft, w.hash = d, sha256.New()
	w.w = parquet.NewWriter[T](hashing{d, w.hash})
	w.w.Note(schema.FooterKey, schema.FooterOf(reflect.TypeFor[T]()))
	return nil
}

// publish gives the part a name that no other attempt has: an earlier or a
// concurrent one may have written the same bytes, and a writer that gives up
// removes its parts by name.
func (w *TableWriter[T]) publish(ctx context.Context, digest string) (string, error) {
	if err := w.s.announce(ctx); err != nil {
		return "", err
	}
	for {
		name := w.s.part(w.t.name, w.seq, digest)
		w.seq++
		_, err := w.s.bucket.Stat(ctx, name)
		if errors.Is(err, storage.ErrNotExist) {
			err = w.draft.Create(ctx, name)
			if !errors.Is(err, storage.ErrExist) {
				return name, err
			}
		} else if err != nil {
			return "", err
		}
	}
}

// end publishes the part that is being written.
func (w *TableWriter[T]) end(ctx context.Context) error {
	if err := w.w.Close(); err != nil {
		return w.fail(err)
	}
	digest := hex.EncodeToString(w.hash.Sum(nil))
	name, err := w.publish(ctx, digest)
	if err != nil {
		return w.fail(err)
	}
	p := manifest.Part{Name: name, Shard: w.s.shard, Rows: w.w.Rows(), Bytes: w.w.Size(), Digest: digest, Footer: w.w.FooterDigest(),
		RowGroups: w.w.RowGroups()}
	if w.t.baseFirst >= 0 {
		first := w.t.baseFirst + w.t.rows - p.Rows
		p.BaseFirst = &first
	}
	w.t.parts = append(w.t.parts, p)
	w.w, w.draft = nil, nil
	return nil
}

func (w *TableWriter[T]) finish(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	if w.w == nil && len(w.t.parts) == 0 {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	if w.w == nil {
		return nil
	}
	return w.end(ctx)
}

func (w *TableWriter[T]) abandon() {
	if w.w != nil {
		w.w.Abandon()
	}
	if w.draft != nil {
		_ = w.draft.Discard()
	}
	w.w, w.draft = nil, nil
	w.err = fmt.Errorf("write %q: the shard has ended", w.s.bucket.URI())
}

// fail records an error, after which the table cannot be committed.
func (w *TableWriter[T]) fail(err error) error {
	w.err = fmt.Errorf("write shard %d of %d: %w", w.s.shard, w.s.build.Of, err)
	return w.err
}

// hashing is a draft that computes its digest while it is written.
type hashing struct {
	d *storage.Draft
	h hash.Hash
}

func (h hashing) Write(p []byte) (int, error) {
	if len(p) < 256<<10 {
		n, err := h.d.Write(p)
		h.h.Write(p[:n])
		return n, err
	}
	var both sync.WaitGroup
	both.Go(func() { h.h.Write(p) })
	n, err := h.d.Write(p) // after an error the draft, and so its digest, is dropped
	both.Wait()
	return n, err
}
