package seal

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Underway is what exists of a dataset that is being written, for readers that show
// it. Looking takes no lock and writes nothing, so it never disturbs a writer.
type Underway struct {
	Name     string          // of its identity: that of other rows is another
	Shards   int             // that the dataset will have
	Finished []FinishedShard // have a record
	Segments []Segment       // of journals, the oldest first
	Changed  time.Time       // of the last object: a segment, a record or a lease

	bucket *storage.Bucket
}

// FinishedShard is a shard that has a record. Its rows are in parts.
type FinishedShard struct {
	Shard int

	build Build
}

// Segment is a journal's object: finished rows of a shard, which never change.
type Segment struct {
	Name  string // unique in the dataset
	Shard int
	Time  time.Time

	object storage.Object
}

// LookUnderway lists what exists of the dataset at a URI. If several runs left
// something, it is that of the last one that wrote. It is storage.ErrNotExist when
// there is nothing.
func LookUnderway(ctx context.Context, uri string) (*Underway, error) {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	last, _, err := lookUnderway(ctx, b)
	if err == nil && last == nil {
		err = fault.Invalid(b.URI(), "", storage.ErrNotExist, "no journal and no finished shard")
	}
	return last, err
}

// UnderwayOf is LookUnderway for one build at a place; nil if nothing of it exists.
func UnderwayOf(ctx context.Context, b *storage.Bucket, r Build) (*Underway, error) {
	_, builds, err := lookUnderway(ctx, b)
	return builds[Build{Identity: r.Identity, Of: r.Of}], err
}

func lookUnderway(ctx context.Context, b *storage.Bucket) (last *Underway, builds map[Build]*Underway, err error) {
	builds = map[Build]*Underway{}
	for o, err := range b.List(ctx, manifest.Private) {
		if err != nil {
			return nil, nil, err
		}
		r, file, ok := buildOf(o.Key)
		if !ok {
			continue
		}
		home := Build{Identity: r.Identity, Of: r.Of} // journals do not depend on what is replaced
		u := builds[home]
		if u == nil {
			u = &Underway{Name: home.Dir(), Shards: r.Of, bucket: b}
			builds[home] = u
		}
		u.add(r, file, o)
		if last == nil || o.ModTime.After(last.Changed) {
			last = u
		}
		if o.ModTime.After(u.Changed) {
			u.Changed = o.ModTime
		}
	}
	for _, u := range builds {
		slices.SortStableFunc(u.Segments, func(a, b Segment) int { return a.Time.Compare(b.Time) })
	}
	return last, builds, nil
}

func (u *Underway) add(r Build, file string, o storage.Object) {
	if shard, is := recordOf(r, file); is {
		u.Finished = append(u.Finished, FinishedShard{shard, r})
		return
	}
	folder, name := path.Split(file)
	text, is := strings.CutPrefix(folder, "journal-")
	shard, err := strconv.Atoi(strings.TrimSuffix(text, "/"))
	if is && err == nil && path.Ext(name) == ".parquet" {
		u.Segments = append(u.Segments, Segment{Name: file, Shard: shard, Time: o.ModTime, object: o})
	}
}

// Record returns the manifest of a finished shard's rows alone.
func (u *Underway) Record(ctx context.Context, s FinishedShard) (manifest.Manifest, error) {
	rec, err := ReadRecord(ctx, u.bucket, s.build, s.Shard)
	return rec.Manifest, err
}

// ReadSegment returns the rows of a segment, with the columns that T has.
func ReadSegment[T any](ctx context.Context, u *Underway, s Segment) ([]T, error) {
	return journals.LoadSegment[T](ctx, u.bucket, s.object, false)
}

// Expected returns how many rows the segment's shard will have, or 0 if it does not say.
func (u *Underway) Expected(ctx context.Context, s Segment) (int64, error) {
	_, of, err := journals.SegmentRows(ctx, u.bucket, s.object)
	return of, err
}
