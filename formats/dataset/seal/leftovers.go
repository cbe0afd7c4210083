package seal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// tidy removes objects that can never be part of a dataset again: records of
// runs that can no longer be sealed, parts that no record or manifest names,
// and the journals of this identity. m is the manifest at present; nothing is
// removed once there is another. Parts that a compaction replaced stay, because
// readers may have opened the dataset before it, and so do those that one may be
// writing: Survey finds both.
// Objects of a run that may soon replace m stay: its records and the parts that
// they name, and parts that no record names yet but whose name shows that they
// belong to it.
func tidy(ctx context.Context, b *storage.Bucket, m *manifest.Manifest) error {
	all, err := b.ListAll(ctx, "")
	if err != nil {
		return err
	}
	left, err := leftAt(ctx, b, Current{Manifest: m, Generation: m.Generation()}, all)
	if err != nil {
		return err
	}
	return b.DeleteAll(ctx, left.records, left.rest, left.parts, left.journals)
}

// leftAt returns what can be removed of the objects of a place; none once the
// place has another manifest than the given one, or beside a manifest whose own
// parts are not all there: it is damaged, and what it does not name may be its rows.
func leftAt(ctx context.Context, b *storage.Bucket, at Current, all []storage.Object) (leftovers, error) {
	var left leftovers
	left.find(at, all, all)
	if !isIn(at.Manifest, all) {
		left.parts, left.records, left.rest, left.journals = nil, nil, nil, nil
	}
	if len(left.records)+len(left.rest)+len(left.parts)+len(left.journals) == 0 {
		return left, nil
	}
	// A writer announces itself before its first part. So the writer of a part
	// in the first list is in this later list, or was sealed before the
	// manifest is read.
	// Journals of many segments need no second look.
	var journals, begun []storage.Object
	look := b.ListAll
	if len(all) >= storage.PageSize {
		other := func(o storage.Object) bool {
			is, _ := inJournal(o.Key)
			return !is
		}
		journals, begun = slices.DeleteFunc(left.journals, other), slices.DeleteFunc(left.begun, other)
		look = func(ctx context.Context, _ string) ([]storage.Object, error) { return announced(ctx, b) }
	}
	others, err := look(ctx, manifest.Private)
	if err != nil {
		return leftovers{}, err
	}
	left = leftovers{}
	left.find(at, all, others)
	left.journals, left.begun = append(left.journals, journals...), append(left.begun, begun...)
	if now, err := ReadCurrent(ctx, b); err != nil || now.Generation != at.Generation {
		return leftovers{}, err
	}
	return left, left.spare(ctx, b)
}

// isIn reports whether all parts of a manifest are in a list; a place without a manifest lacks none.
func isIn(m *manifest.Manifest, all []storage.Object) bool {
	if m == nil {
		return true
	}
	there := map[string]bool{}
	for _, o := range all {
		there[o.Key] = true
	}
	return !slices.ContainsFunc(m.StoredParts(), func(p manifest.Part) bool { return !there[p.Name] })
}

// leftovers are the objects that a dataset does not name.
type leftovers struct {
	records  []storage.Object // of runs that can no longer be sealed
	rest     []storage.Object // other objects of these runs, except their journals
	parts    []storage.Object // that the manifest does not name
	compact  []storage.Object // parts that a compaction of the dataset replaced, or wrote for nothing, or is writing
	journals []storage.Object // of this identity
	live     map[Build][]int  // runs that may still replace the dataset, and their records
	begun    []storage.Object // of live runs, and journals of others: their rows cost money and may still be needed
}

// find sorts the objects of two lists into those that stay and those that do
// not. Of a pruned dataset none stays, except what a writer that makes it again
// has begun.
func (l *leftovers) find(at Current, parts, others []storage.Object) {
	m, keep := at.Manifest, map[string]bool{}
	pruned := manifest.PrunedIn(at.Damage)
	if pruned != nil {
		m = &manifest.Manifest{}
	}
	for _, p := range m.StoredParts() {
		keep[p.Name] = true
	}
	replaced := namesOf(m)
	for _, o := range parts {
		switch compacts, isPart := manifest.PartName(o.Key); {
		case !isPart || keep[o.Key]:
		case replaced[o.Key] || compacts != "" && compacts == at.Generation:
			l.compact = append(l.compact, o)
		default:
			l.parts = append(l.parts, o)
		}
	}
	l.live = map[Build][]int{}
	for _, o := range others {
		r, file, ok := buildOf(o.Key)
		if !ok {
			continue
		}
		shard, isRecord := recordOf(r, file)
		inHome := strings.HasPrefix(file, "journal-") || strings.HasPrefix(file, "lease-")
		switch {
		case inHome && r.Identity == m.Identity:
			l.journals = append(l.journals, o)
		case inHome:
			l.begun = append(l.begun, o)
		case r.Base == at.Generation && isRecord:
			l.live[r] = append(l.live[r], shard)
			l.begun = append(l.begun, o)
		case r.Base == at.Generation:
			l.live[r] = slices.Clip(l.live[r])
			l.begun = append(l.begun, o)
		case isRecord && !r.made(m):
			l.records = append(l.records, o)
		case !isRecord:
			l.rest = append(l.rest, o)
		}
	}
}

// spare keeps the parts of runs that may still replace the dataset.
func (l *leftovers) spare(ctx context.Context, b *storage.Bucket) error {
	if len(l.live) == 0 || len(l.parts) == 0 {
		return nil
	}
	named := map[string]bool{}
	for r, shards := range l.live {
		for rec, err := range storage.InOrder(ctx, len(shards), storage.AtOnce, func(ctx context.Context, i int) (manifest.Record, error) {
			rec, err := ReadRecord(ctx, b, r, shards[i])
			if errors.Is(err, storage.ErrNotExist) || errors.Is(err, fault.ErrInvalid) {
				err = nil // it was withdrawn, or names no parts
			}
			return rec, err
		}) {
			if err != nil {
				return err
			}
			for _, p := range rec.AllParts() {
				named[p.Name] = true
			}
		}
	}
	var parts []storage.Object
	for _, o := range l.parts {
		if named[o.Key] {
			continue
		}
		digest, err := digestAt(ctx, b, o.Key)
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

func digestAt(ctx context.Context, b *storage.Bucket, key string) (string, error) {
	src, err := b.Open(ctx, key)
	if err != nil {
		return "", err
	}
	defer src.Close()
	return DigestOf(src)
}

// DigestOf returns the SHA-256 of a part, hex.
func DigestOf(src storage.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.CopyBuffer(h, io.NewSectionReader(src, 0, src.Size()), make([]byte, 1<<20)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Unnamed lists the parts at a place that neither its manifest nor a record
// names: left by a killed writer, written so far by a running one, replaced by a
// compaction, or put there by another program. Readers of plain Parquet would
// read them as rows. Seal removes those that writers left once the dataset is
// sealed.
func Unnamed(ctx context.Context, b *storage.Bucket, m *manifest.Manifest) ([]string, error) {
	all, err := b.ListAll(ctx, "")
	if err != nil {
		return nil, err
	}
	var left leftovers
	left.find(Current{Manifest: m, Generation: m.Generation()}, all, all)
	if err := left.spare(ctx, b); err != nil {
		return nil, err
	}
	var out []string
	for _, o := range slices.Concat(left.parts, left.compact) {
		out = append(out, o.Key)
	}
	for _, o := range all {
		if foreign(o.Key) {
			out = append(out, o.Key)
		}
	}
	return out, nil
}

// foreign reports whether plain Parquet readers would read a file as rows of
// the main table although no dataset writer left it.
func foreign(key string) bool {
	_, isPart := manifest.PartName(key)
	return strings.HasSuffix(key, ".parquet") && !strings.ContainsAny(key[:1], "._") && !strings.Contains(key, "/") &&
		!isPart
}

// UnnamedAt is Unnamed for the sealed dataset at a URI; it returns nothing when there is none.
func UnnamedAt(ctx context.Context, uri string) ([]string, error) {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	now, err := ReadCurrent(ctx, b)
	if err != nil || now.Manifest == nil {
		return nil, err
	}
	return Unnamed(ctx, b, now.Manifest)
}
