package shards

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sort"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Payload is a wide dataset from which TableWriter.Copy copies rows. One
// goroutine may query it while another copies.
type Payload struct {
	ctx    context.Context
	d      *dataset.Dataset
	parts  []manifest.Part
	firsts []int64 // row of each part
	mu     sync.Mutex
	opened map[int]*payloadPart // by part
	passed []*payloadPart       // that a writer may still hold
}

type payloadPart struct {
	src      storage.Reader
	f        *parquet.File
	copyable bool
}

// NewPayload returns the payload of a dataset's rows. It opens nothing yet;
// what it opens later uses ctx.
func NewPayload(ctx context.Context, d *dataset.Dataset) *Payload {
	p := &Payload{ctx: ctx, d: d, parts: d.PartsOf(""), opened: map[int]*payloadPart{}}
	next := int64(0)
	for _, part := range p.parts {
		p.firsts = append(p.firsts, next)
		next += part.Rows
	}
	return p
}

// Copyable reports whether the payload of rows [first, first+rows) can be
// copied: one part has all of them, written by this version of the schema.
func (p *Payload) Copyable(first, rows int64) (bool, error) {
	part := p.partOf(first)
	if part < 0 || first+rows > p.firsts[part]+p.parts[part].Rows {
		return false, nil
	}
	o, err := p.open(part)
	if err != nil {
		return false, err
	}
	return o.copyable, nil
}

// partOf returns the part that holds a row, or -1.
func (p *Payload) partOf(row int64) int {
	return sort.Search(len(p.firsts), func(i int) bool { return p.firsts[i] > row }) - 1
}

func (p *Payload) open(part int) (*payloadPart, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.opened[part]; o != nil {
		return o, nil
	}
	src, f, err := p.d.OpenPart(p.ctx, p.parts[part])
	if err != nil {
		return nil, err
	}
	o := &payloadPart{src: src, f: f, copyable: parquet.Copyable[formats.Trajectory](f)}
	p.opened[part] = o
	return o, nil
}

// closeBefore closes the parts before a given one that are not held.
func (p *Payload) closeBefore(part int, held func(*parquet.File) bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, o := range p.opened {
		if i < part {
			p.passed = append(p.passed, &payloadPart{src: o.src, f: o.f.WithoutMetadata()})
			delete(p.opened, i)
		}
	}
	var errs []error
	p.passed = slices.DeleteFunc(p.passed, func(o *payloadPart) bool {
		if held(o.f) {
			return false
		}
		errs = append(errs, o.src.Close())
		return true
	})
	return errors.Join(errs...)
}

// Close closes all parts. None of them may be held any more: see TableWriter.EndRowGroup.
func (p *Payload) Close() error {
	return p.closeBefore(len(p.parts), func(*parquet.File) bool { return false })
}

// Copy adds rows that belong together, as Write does, but copies their payload
// from another dataset and decodes as little of it as possible: rows[i] has all
// other columns (read by NewHeadReader), and its payload is that of row at[i]
// of p. The indexes in at ascend and are Copyable together. Copy trusts payload
// digests: a row without one is an error.
func (w *TableWriter[T]) Copy(ctx context.Context, p *Payload, at []int64, rows []T) error {
	return w.CopyWith(ctx, p, at, rows, nil)
}

// CopyWith adds a group of rows. The first of them are copied, as by Copy;
// those in more are complete, as for Write.
func (w *TableWriter[T]) CopyWith(ctx context.Context, p *Payload, at []int64, rows, more []T) error {
	if w.err != nil {
		return w.err
	}
	if len(rows) == 0 {
		return w.Write(ctx, more)
	}
	part := p.partOf(at[0])
	if part < 0 {
		return fault.Invalid(p.d.URI(), "", nil, "it has no row %d", at[0])
	}
	o, err := p.open(part)
	if err != nil {
		return err
	}
	for i := range rows {
		if t, wide := any(&rows[i]).(*formats.Trajectory); wide && !t.HasPayloadDigest() {
			return fault.Invalid(p.d.URI(), "", nil, "trajectory %q has no payload digest", t.TrajectoryID).InRow(at[i])
		}
	}
	within := make([]int64, len(at))
	for i := range at {
		within[i] = at[i] - p.firsts[part]
	}
	from := []parquet.Source{{File: o.f, At: within}}
	secret.Rows(w.s.secrets, more)
	if len(more) > 0 {
		whole, err := inMemory(more)
		if err != nil {
			return w.fail(err)
		}
		from, rows = append(from, whole), slices.Concat(rows, more)
	}
	return w.add(ctx, rows, func() error {
		if err := w.w.CopyFrom(from, rows); err != nil {
			return err
		}
		return p.closeBefore(part, w.w.Holds)
	})
}

// inMemory returns a file with whole rows, so that they can be put into a row
// group together with copied rows.
func inMemory[T any](rows []T) (parquet.Source, error) {
	setDigests(rows)
	data, err := parquet.Encode(rows, func(*parquet.Writer[T]) {})
	if err != nil {
		return parquet.Source{}, err
	}
	f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), "rows in memory")
	at := make([]int64, len(rows))
	for i := range at {
		at[i] = int64(i)
	}
	return parquet.Source{File: f, At: at}, err
}

// EndPart ends the part, after which the files copied into it are no longer held.
func (w *TableWriter[T]) EndPart(ctx context.Context) error {
	if w.err != nil || w.w == nil {
		return w.err
	}
	return w.end(ctx)
}

// EndRowGroup ends the row group, after which the files copied into it are no longer held.
func (w *TableWriter[T]) EndRowGroup() error {
	if w.err != nil || w.w == nil {
		return w.err
	}
	if err := w.w.EndRowGroup(); err != nil {
		return w.fail(err)
	}
	return nil
}
