package dataset

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

// Seal writes the manifest of a dataset whose shard records are all there,
// and tidies up. A dataset with missing shards is a formats.InputError that
// names them; one that is sealed already is only tidied.
func Seal(ctx context.Context, uri string) (*Dataset, error) {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	m, err := find(ctx, b)
	if err != nil {
		return nil, err
	}
	return newDataset(*m, uri, b), nil
}

// find returns the manifest that stands at a place, writing it first when
// some run's records are complete.
func find(ctx context.Context, b *storage.Bucket) (*Manifest, error) {
	m, err := readManifest(ctx, b)
	if err == nil || !errors.Is(err, storage.ErrNotExist) {
		return m, err
	}
	found, err := records(ctx, b)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, formats.Invalid(b.URI(), "has the stage that writes it run?", storage.ErrNotExist, "no dataset")
	}
	runs := sortedRuns(found)
	for _, r := range runs {
		if len(found[r]) == r.of {
			m, _, err := settle(ctx, b, r, false)
			return m, err
		}
	}
	return nil, incomplete(b, runs[0], missing(found[runs[0]], runs[0].of))
}

// ErrIncomplete marks a dataset of which shards are missing.
var ErrIncomplete = errors.New("the dataset is incomplete")

func incomplete(b *storage.Bucket, r run, shards []int) error {
	word := "shard"
	if len(shards) > 1 {
		word = "shards"
	}
	return formats.Invalid(b.URI(), fmt.Sprintf("run the stage again with --shard i/%d for each", r.of), ErrIncomplete,
		"%s %s of %d missing", word, numbers(shards), r.of)
}

// settle returns the manifest of a run, writing it when the records of all
// shards are there, or says which are missing. The dataset of another
// identity that was sealed meanwhile is only replaced when overwriting.
func settle(ctx context.Context, b *storage.Bucket, r run, overwrite bool) (*Manifest, []int, error) {
	old, err := readManifest(ctx, b)
	if err == nil && old.Identity == r.identity {
		return old, nil, resume(ctx, b, old)
	}
	if err == nil && !overwrite {
		return nil, nil, &ExistsError{URI: b.URI(), Old: old.Identity, New: r.identity, Sealed: true}
	}
	if err != nil && !errors.Is(err, storage.ErrNotExist) && !errors.Is(err, formats.ErrInvalid) {
		return nil, nil, err
	}
	replace := !errors.Is(err, storage.ErrNotExist)
	found, err := records(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	if list := missing(found[r], r.of); list != nil {
		return nil, list, nil
	}
	all, err := readAllRecords(ctx, b, r)
	if err != nil {
		return nil, nil, err
	}
	m := merge(all)
	stands, err := seal(ctx, b, &m, replace)
	return stands, nil, err
}

// seal makes the dataset visible, then tidies up. A crash leaves either no
// manifest, and the next finisher starts over, or the manifest and the mark
// that tells the next reader of this identity to tidy.
func seal(ctx context.Context, b *storage.Bucket, m *Manifest, replace bool) (*Manifest, error) {
	if err := b.Write(ctx, sealing, []byte(m.Identity)); err != nil {
		return nil, err
	}
	publish := b.Create
	if replace {
		publish = b.Write
	}
	if err := publish(ctx, ManifestFile, m.encode()); err != nil {
		if !errors.Is(err, storage.ErrExist) {
			return nil, err
		}
		stands, err := readManifest(ctx, b) // another finisher was faster
		if err != nil {
			return nil, err
		}
		if stands.Identity != m.Identity {
			return nil, &ExistsError{URI: b.URI(), Old: stands.Identity, New: m.Identity, Sealed: true}
		}
		m = stands
	}
	return m, tidy(ctx, b, m)
}

// resume finishes the tidying that a crash interrupted.
func resume(ctx context.Context, b *storage.Bucket, m *Manifest) error {
	mark, err := b.Read(ctx, sealing)
	if errors.Is(err, storage.ErrNotExist) {
		return nil
	}
	if err != nil || string(mark) != m.Identity {
		return err
	}
	return tidy(ctx, b, m)
}

var runDir = regexp.MustCompile(`^\.rollmill/[0-9a-f]{16}-[0-9]+/`)

// tidy removes what the dataset does not name: records of other runs first,
// since a record without its parts would be believed, then parts, then
// journals.
func tidy(ctx context.Context, b *storage.Bucket, m *Manifest) error {
	keep := map[string]bool{}
	for _, p := range m.allParts() {
		keep[p.Name] = true
	}
	mine := run{m.Identity, m.Shards}
	var records, parts, rest []string
	for o, err := range b.List(ctx, "") {
		switch {
		case err != nil:
			return err
		case partKey.MatchString(o.Key):
			if !keep[o.Key] {
				parts = append(parts, o.Key)
			}
		case !runDir.MatchString(o.Key):
		case !recordKey.MatchString(o.Key):
			rest = append(rest, o.Key)
		case !strings.HasPrefix(o.Key, mine.dir()):
			records = append(records, o.Key)
		}
	}
	for _, list := range [][]string{records, parts, rest, {sealing}} {
		for _, key := range list {
			if err := b.Delete(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// allParts lists the parts of every table.
func (m *Manifest) allParts() []Part {
	out := append([]Part(nil), m.Parts...)
	for _, t := range m.Tables {
		out = append(out, t.Parts...)
	}
	return out
}
