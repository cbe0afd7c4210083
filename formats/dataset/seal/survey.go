package seal

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// Folder is the place of a sealed or pruned dataset, and what can be removed there.
type Folder struct {
	Manifest *manifest.Manifest // nil if the dataset was pruned
	Pruned   *manifest.Pruned   // nil unless it was pruned

	Objects  []storage.Object // what the dataset is made of, besides its manifest
	Rest     []storage.Object // of a pruned dataset whose removal was interrupted
	Parts    []storage.Object // that neither the manifest nor a running writer names, or that a compaction replaced
	Records  []storage.Object // of writers that can never finish
	Journals []storage.Object // of rows that are in the dataset

	// Begun is what writers of other datasets at this place left or are writing:
	// it may have rows that cost money. Active is when the last of them wrote, or
	// a writer of this dataset did.
	Begun  []storage.Object
	Active time.Time

	bucket  *storage.Bucket
	now     Current
	written time.Time // the manifest
	before  time.Time
}

// Survey sorts the objects of a dataset's folder, which the caller has listed:
// their keys are relative to it. Parts, Records and Journals are only those
// last written before a time of the store: see storetime.Now. It returns nil if there is no manifest, or one
// that does not say where the rows are (see dataset.Plain).
func Survey(ctx context.Context, b *storage.Bucket, all []storage.Object, before time.Time) (*Folder, error) {
	now, err := ReadCurrent(ctx, b)
	f := &Folder{bucket: b, now: now, Pruned: manifest.PrunedIn(now.Damage), before: before}
	switch {
	case err != nil || now.Raw == nil:
		return nil, err
	case now.Damage != nil && f.Pruned == nil:
		return nil, now.Damage
	case now.Manifest != nil:
		f.Manifest = now.Manifest
	}
	left, err := leftAt(ctx, b, now, all)
	if err != nil {
		return nil, err
	}
	f.sort(left, all)
	return f, nil
}

func (f *Folder) sort(left leftovers, all []storage.Object) {
	f.Begun, f.Parts, f.Records, f.Journals = left.begun, left.parts, slices.Concat(left.records, left.rest), left.journals
	for _, o := range all {
		if o.Key == manifest.FileName {
			f.written = o.ModTime.UTC()
		}
	}
	var writing []storage.Object
	if f.Manifest != nil {
		var replaced []storage.Object
		replaced, writing = splitCompacted(f.Manifest.Compacted, left.compact, f.written)
		if f.written.Before(f.before) {
			f.Parts = append(f.Parts, replaced...)
		}
		f.Parts = append(f.Parts, writing...)
	}
	for _, o := range slices.Concat(f.Begun, f.Journals, writing) {
		if o.ModTime.After(f.Active) {
			f.Active = o.ModTime
		}
	}
	if f.Pruned != nil {
		named := namesOf(f.Pruned.Manifest)
		other := func(o storage.Object) bool { return !named[o.Key] }
		f.Rest = slices.Concat(f.Records, slices.DeleteFunc(slices.Clone(f.Parts), other))
		f.Parts = slices.DeleteFunc(f.Parts, func(o storage.Object) bool { return named[o.Key] })
		f.Records = nil
	}
	for _, list := range []*[]storage.Object{&f.Parts, &f.Records, &f.Journals} {
		*list = slices.DeleteFunc(*list, func(o storage.Object) bool { return !o.ModTime.Before(f.before) })
	}
	if f.Manifest == nil {
		return
	}
	named := namesOf(f.Manifest)
	for _, o := range f.Parts {
		delete(named, o.Key)
	}
	for _, o := range all {
		r, file, inRun := buildOf(o.Key)
		_, isRecord := recordOf(r, file)
		if named[o.Key] || inRun && isRecord && r.made(f.Manifest) {
			f.Objects = append(f.Objects, o)
		}
	}
}

func namesOf(m *manifest.Manifest) map[string]bool {
	out := map[string]bool{}
	for _, p := range m.NamedParts() {
		out[p.Name] = true
	}
	return out
}

// Clean removes what Survey found of killed writers and of an interrupted
// removal. The rows of the dataset stay. The error is storage.ErrChanged if
// another process changed the manifest meanwhile.
func (f *Folder) Clean(ctx context.Context) error {
	now, err := ReadCurrent(ctx, f.bucket)
	if err == nil && !bytes.Equal(now.Raw, f.now.Raw) {
		err = fmt.Errorf("clean %q: %w", f.bucket.URI(), storage.ErrChanged)
	}
	if err != nil {
		return err
	}
	return f.bucket.DeleteAll(ctx, f.Rest, f.Records, f.Parts, f.Journals)
}

// Abandon removes what others began at this place, and with it rows that are in no dataset.
func (f *Folder) Abandon(ctx context.Context) error { return f.bucket.DeleteAll(ctx, f.Begun) }

// Prune removes the dataset that Survey found. First its manifest is replaced,
// if it is still the same, by one that says so: from then on no reader opens the
// dataset. Then its parts and records are removed. After a crash in between,
// Survey finds the rest of them, and Clean removes it. The error is
// storage.ErrChanged if another process changed the manifest meanwhile.
func (f *Folder) Prune(ctx context.Context, rule string, now time.Time) error {
	m := *f.Manifest
	m.Prune(manifest.Pruned{At: now.UTC().Truncate(time.Second), Rule: rule, Written: cmp.Or(m.Written, f.written)})
	if err := f.bucket.Swap(ctx, manifest.FileName, f.now.Raw, m.Encode()); err != nil {
		return err
	}
	all, err := f.bucket.ListAll(ctx, "")
	if err != nil {
		return err
	}
	left, err := Survey(ctx, f.bucket, all, f.before)
	if err != nil || left == nil {
		return err
	}
	return left.bucket.DeleteAll(ctx, left.Rest)
}

// RemoveWorkspaces removes the workspaces of the dataset that Survey found, and nothing else: first the manifest says
// so, as of a compaction to no parts, then the parts are removed. After a crash in between, Survey finds these.
func (f *Folder) RemoveWorkspaces(ctx context.Context, parts []storage.Object, now time.Time) error {
	m, c := *f.Manifest, manifest.Compacted{At: now.UTC()}
	if m.Compacted != nil {
		c = *m.Compacted
	}
	c.Tables = maps.Clone(c.Tables)
	c.SetParts(schema.TableWorkspaces, []manifest.Part{})
	m.Format, m.Compacted = manifest.CompactedFormat, &c
	if err := f.bucket.Swap(ctx, manifest.FileName, f.now.Raw, m.Encode()); err != nil {
		return err
	}
	return f.bucket.DeleteAll(ctx, parts)
}

// splitCompacted splits the parts that compactions left, or are writing, into those that
// one replaced and those that were written after it, or after the manifest: older
// versions took At from their machine's clock.
func splitCompacted(c *manifest.Compacted, parts []storage.Object, written time.Time) (replaced, later []storage.Object) {
	for _, o := range parts {
		compacts, _ := manifest.PartName(o.Key)
		if compacts != "" && (c == nil || o.ModTime.After(c.At) || o.ModTime.After(written)) {
			later = append(later, o)
		} else {
			replaced = append(replaced, o)
		}
	}
	return replaced, later
}
