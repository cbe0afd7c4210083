package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

// tidy removes what can never be part of a dataset again: records of runs that
// can no longer be sealed, parts that nobody names, and the journals of this
// identity. m is the manifest that stands; nothing is removed once another
// does.
//
// What a run that is about to replace m has written stays: its records and
// what they name, and of the parts that no record names yet those that bear
// its mark.
func tidy(ctx context.Context, b *storage.Bucket, m *Manifest) error {
	parts, err := list(ctx, b, "")
	if err != nil {
		return err
	}
	var left leftovers
	if left.find(m, parts, parts); left.none() {
		return nil
	}
	// A writer announces itself before its first part. So whoever wrote a part
	// that was listed is in this later list, or was sealed before the manifest
	// is read.
	others, err := list(ctx, b, private)
	if err != nil {
		return err
	}
	left = leftovers{}
	left.find(m, parts, others)
	if stands, err := standing(ctx, b); err != nil || stands.manifest == nil || stands.generation != m.generation() {
		return err
	}
	if err := left.spare(ctx, b); err != nil {
		return err
	}
	for _, keys := range [][]string{left.records, left.rest} {
		for _, key := range keys {
			if err := b.Delete(ctx, key); err != nil {
				return err
			}
		}
	}
	for _, o := range left.parts {
		if err := b.Delete(ctx, o.Key); err != nil {
			return err
		}
	}
	for _, key := range left.journals {
		if err := b.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

func list(ctx context.Context, b *storage.Bucket, prefix string) ([]storage.Object, error) {
	var out []storage.Object
	for o, err := range b.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// leftovers is what a dataset does not name.
type leftovers struct {
	records  []string         // of runs that cannot be sealed any more
	rest     []string         // what else these runs left, but their journals
	parts    []storage.Object // that the manifest does not name
	journals []string         // of this identity
	live     map[run][]int    // runs that may still replace the dataset, and their records
}

func (l *leftovers) none() bool {
	return len(l.records)+len(l.rest)+len(l.parts)+len(l.journals) == 0
}

// find sorts the objects of two lists into what stays and what does not.
func (l *leftovers) find(m *Manifest, parts, others []storage.Object) {
	keep := map[string]bool{}
	for _, p := range m.allParts() {
		keep[p.Name] = true
	}
	for _, o := range parts {
		if partKey.MatchString(o.Key) && !keep[o.Key] {
			l.parts = append(l.parts, o)
		}
	}
	l.live = map[run][]int{}
	for _, o := range others {
		r, file, ok := runOf(o.Key)
		if !ok {
			continue
		}
		shard, isRecord := recordOf(r, file)
		inHome := strings.HasPrefix(file, "journal-") || strings.HasPrefix(file, "lease-")
		switch {
		case inHome && r.identity == m.Identity:
			l.journals = append(l.journals, o.Key)
		case inHome: // of rows that were paid for, and may be wanted yet
		case r.base == m.generation() && isRecord:
			l.live[r] = append(l.live[r], shard)
		case r.base == m.generation():
			l.live[r] = slices.Clip(l.live[r])
		case isRecord && !m.of(r):
			l.records = append(l.records, o.Key)
		case !isRecord:
			l.rest = append(l.rest, o.Key)
		}
	}
}

// of reports whether a manifest is made of the records of a run.
func (m *Manifest) of(r run) bool {
	for _, p := range m.allParts() {
		return m.Identity == r.identity && m.Shards == r.of && r.wrote(p.Name, p.Digest)
	}
	return false
}

// spare takes out of the parts those of runs that may still replace the
// dataset.
func (l *leftovers) spare(ctx context.Context, b *storage.Bucket) error {
	if len(l.live) == 0 || len(l.parts) == 0 {
		return nil
	}
	named := map[string]bool{}
	for r, shards := range l.live {
		for _, shard := range shards {
			rec, err := readRecord(ctx, b, r, shard)
			if errors.Is(err, storage.ErrNotExist) {
				continue // it was withdrawn
			}
			if err != nil && !errors.Is(err, formats.ErrInvalid) {
				return err
			}
			for _, p := range rec.allParts() {
				named[p.Name] = true
			}
		}
	}
	var parts []storage.Object
	for _, o := range l.parts {
		if named[o.Key] {
			continue
		}
		digest, err := digestOf(ctx, b, o)
		if errors.Is(err, storage.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		wrote := false
		for r := range l.live {
			wrote = wrote || r.wrote(o.Key, digest)
		}
		if !wrote {
			parts = append(parts, o)
		}
	}
	l.parts = parts
	return nil
}

func digestOf(ctx context.Context, b *storage.Bucket, o storage.Object) (string, error) {
	src, err := b.Open(ctx, o.Key)
	if err != nil {
		return "", err
	}
	defer src.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, io.NewSectionReader(src, 0, src.Size()), make([]byte, 1<<20)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Unnamed lists the parts at a dataset that nobody names: what a killed writer
// left, or one that is at work has written so far, and Parquet files that
// something else put there. Readers of plain Parquet take them for rows; Seal
// removes those of writers once the dataset is sealed.
func (d *Dataset) Unnamed(ctx context.Context) ([]string, error) {
	all, err := list(ctx, d.bucket, "")
	if err != nil {
		return nil, err
	}
	var left leftovers
	left.find(&d.Manifest, all, all)
	if err := left.spare(ctx, d.bucket); err != nil {
		return nil, err
	}
	var out []string
	for _, o := range left.parts {
		out = append(out, o.Key)
	}
	for _, o := range all {
		if foreign(o.Key) {
			out = append(out, o.Key)
		}
	}
	return out, nil
}

// foreign reports whether a file that no writer of datasets left would be read
// as rows of the main table.
func foreign(key string) bool {
	return strings.HasSuffix(key, ".parquet") && !strings.ContainsAny(key[:1], "._") && !strings.Contains(key, "/") && !partKey.MatchString(key)
}

// UnnamedAt is Unnamed of the sealed dataset at a URI; none when there is none.
func UnnamedAt(ctx context.Context, uri string) ([]string, error) {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	now, err := standing(ctx, b)
	if err != nil || now.manifest == nil {
		return nil, err
	}
	return newDataset(*now.manifest, uri, b).Unnamed(ctx)
}

// allParts lists the parts of every table.
func (m *Manifest) allParts() []Part {
	out := append([]Part(nil), m.Parts...)
	for _, t := range m.Tables {
		out = append(out, t.Parts...)
	}
	return out
}
