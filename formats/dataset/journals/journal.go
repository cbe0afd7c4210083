package journals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/parquet/reader"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Journal keeps finished rows of a shard durable until they are in a part. Each
// segment is one object that is complete or absent. The journal belongs to
// (identity, shard, n): the same command finds it again after a crash. Commit
// removes it.
//
// Two live owners of one shard may both journal a row. Segments are ordered by
// name, which is a number and the digest of the content. Of rows with equal
// rank and equal trajectory_id (equal rank alone when T has no such column)
// Sorted yields the one in the first segment and drops the others.
type Journal[T any] struct {
	Place

	// Expected is the number of rows that the shard will have, when it is
	// known. Each segment records it, so that the error about a dataset that is
	// not complete yet can say how much of it exists.
	Expected int64

	mu       sync.Mutex
	segments []storage.Object // in the order of their keys
	next     int
}

// noteExpected is the key of Journal.Expected in a segment's metadata.
const noteExpected = "rollmill.journal.expected"

// Place is where a journal is, and the secrets that it must not contain.
type Place struct {
	Bucket  *storage.Bucket
	Folder  string
	Secrets *secret.Set
}

// Open returns the journal at a place, with what earlier runs of the command left.
func Open[T any](ctx context.Context, at Place) (*Journal[T], error) {
	j := &Journal[T]{Place: at}
	for o, err := range j.Bucket.List(ctx, j.Folder) {
		if err != nil {
			return nil, err
		}
		var n int
		if _, err := fmt.Sscanf(strings.TrimPrefix(o.Key, j.Folder), "%d-", &n); err != nil {
			return nil, fault.Invalid(storage.Join(j.Bucket.URI(), o.Key), "", nil, "not a journal segment")
		}
		j.segments = append(j.segments, o)
		j.next = max(j.next, n+1)
	}
	return j, nil
}

// Append makes rows durable as one segment, without secrets of the process. It is
// safe for concurrent use, and does not change the rows.
func (j *Journal[T]) Append(ctx context.Context, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	rows = slices.Clone(rows)
	secret.Rows(j.Secrets, rows)
	data, err := parquet.Encode(rows, func(w *parquet.Writer[T]) {
		if j.Expected > 0 {
			w.Note(noteExpected, strconv.FormatInt(j.Expected, 10))
		}
	})
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.mu.Lock()
	n := j.next
	j.next++
	j.mu.Unlock()
	key := fmt.Sprintf("%s%08d-%s.parquet", j.Folder, n, manifest.ShortSum(data, 8))
	if err := j.Bucket.Create(ctx, key, data); err != nil && !errors.Is(err, storage.ErrExist) { // the same bytes are there
		if errors.Is(err, storage.ErrTemporary) { // whose hint says that finished work is kept, and these rows are not
			return fault.Errorf(fault.Temporary, "run the same command again: it keeps what the journal has, and makes the rest again",
				"journal: %w", err)
		}
		return fmt.Errorf("journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.segments = append(j.segments, storage.Object{Key: key, Size: int64(len(data))})
	slices.SortFunc(j.segments, func(a, b storage.Object) int { return strings.Compare(a.Key, b.Key) })
	return nil
}

func (j *Journal[T]) list() []storage.Object {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.segments)
}

// LoadSegment reads the columns that T has of a segment, and may refuse columns of a newer version,
// which would be lost in the dataset. One that cannot be read is an error that names it: generating
// its rows cost money, so only the user may delete them.
func LoadSegment[T any](ctx context.Context, b *storage.Bucket, s storage.Object, refuse bool) ([]T, error) {
	place := storage.Join(b.URI(), s.Key)
	data, err := b.ReadLimited(ctx, s.Key, s.Size)
	if err != nil {
		return nil, err
	}
	if digest := manifest.ShortSum(data, 8); !strings.HasSuffix(s.Key, "-"+digest+".parquet") {
		return nil, fault.Invalid(place, "restore it, or delete it to have its trajectories made again", nil,
			"damaged journal segment: its digest is %s, which its name does not say", digest)
	}
	f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), place)
	if err != nil {
		return nil, err
	}
	r, err := parquet.NewReader[T](f, 0, f.Rows())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	known := schema.Columns(schema.KindTrajectories)
	columns := slices.DeleteFunc(r.Unknown(), func(name string) bool {
		return slices.ContainsFunc(known, func(c schema.Column) bool { return c.Path == name })
	})
	if refuse && len(columns) > 0 {
		return nil, fault.Invalid(place, manifest.UpgradeHint, nil,
			"the journal segment has columns that this version does not know and would lose: %s",
			strings.Join(columns, ", "))
	}
	return reader.ReadAll(r.Read, f.Rows())
}

// Rows yields every journalled row, segment by segment, unsorted. A row that
// two live owners of the shard journalled is yielded twice.
func (j *Journal[T]) Rows(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for rows, err := range j.all(ctx, j.list()) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range rows {
				if !yield(&rows[i], nil) {
					return
				}
			}
		}
	}
}

// all yields the rows of each segment, and loads several concurrently.
func (j *Journal[T]) all(ctx context.Context, segments []storage.Object) iter.Seq2[[]T, error] {
	return storage.InOrder(ctx, len(segments), window(segments), func(ctx context.Context, i int) ([]T, error) {
		return LoadSegment[T](ctx, j.Bucket, segments[i], true)
	})
}

// window returns how many segments may be loaded concurrently: their uncompressed bytes
// are about four times what they have in the store.
func window(segments []storage.Object) int {
	var largest int64
	for _, s := range segments {
		largest = max(largest, 4*s.Size)
	}
	return int(min(max(1, loadBytes/max(1, largest)), storage.AtOnce))
}

// loadBytes bounds the memory of segments that are loaded concurrently, unless one needs more.
const loadBytes = 24 << 20

// SegmentRows reads the row counts from the footer of a journal's segment.
func SegmentRows(ctx context.Context, b *storage.Bucket, o storage.Object) (rows, of int64, err error) {
	src, err := b.OpenSized(ctx, o.Key, o.Size)
	if err != nil {
		return 0, 0, err
	}
	defer src.Close()
	f, err := parquet.Open(src, o.Size, storage.Join(b.URI(), o.Key))
	if err != nil {
		return 0, 0, err
	}
	of, _ = strconv.ParseInt(f.KeyValue(noteExpected), 10, 64)
	return f.Rows(), of, nil
}
