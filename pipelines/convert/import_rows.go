package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/redaction"
)

// parsed is a record with its rows.
type parsed struct {
	importers.Parsed
	rows  []row
	fresh bool // it has members that no record before it has
}

// row is a trajectory on its way into a group.
type row struct {
	*importers.Item
	own      string // the source's id, else a digest of the content
	size     int    // about so many bytes
	redacted redaction.Counts
}

// A batch of records is converted at once. The records of a batch have about so
// many bytes, and all batches in work together so many.
const (
	batchBytes = 256 << 10
	batchRows  = 1024
	inWork     = 32 << 20
)

// batch is a few records of a file, in order.
type batch struct {
	file    int
	records []importers.Record
	bytes   int64
	held    int64 // of inWork
	done    chan struct{}
	parsed  []parsed
	err     error // the file cannot be read any further

	rows []row          // of parsed: most records have one
	room importers.Room // of the rows
	end  int64          // how many rows there are up to the end of the batch
}

// reset empties a batch of which nothing is used any more.
func (b *batch) reset() {
	clear(b.records)
	clear(b.parsed)
	clear(b.rows)
	b.room.Reset()
	*b = batch{records: b.records[:0], parsed: b.parsed[:0], rows: b.rows[:0], room: b.room}
}

// batches keeps the memory of batches until their rows are written, and then for other batches.
type batches struct {
	used  []*batch
	spare chan *batch
}

// get returns an empty batch. It is safe for concurrent use.
func (m *batches) get(file int) *batch {
	select {
	case b := <-m.spare:
		b.file = file
		return b
	default:
		return &batch{file: file}
	}
}

// put takes a batch back. Rows are needed no more if they are among the first so many.
func (m *batches) put(b *batch, written int64) {
	m.used = append(m.used, b)
	for len(m.used) > 0 && m.used[0].end <= written {
		m.used[0].reset()
		select {
		case m.spare <- m.used[0]:
		default:
		}
		m.used[0], m.used = nil, m.used[1:]
	}
}

// each converts the records of every file, concurrently, and calls use for each
// of them in order. broken is called when a file cannot be read to its end; its
// nil goes on with the next file. account gets the members of all records. progress returns how many rows use has had, and
// how many of these are needed no more: their memory is used again.
func (o *ImportOptions) each(ctx context.Context, use func(file int, p *parsed) error, broken func(file int, err error) error,
	account *importers.Account, progress func() (had, done int64)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	todo, ordered := make(chan *batch, workers), make(chan *batch, 4*workers)
	memory, pool := semaphore.NewWeighted(inWork), &batches{spare: make(chan *batch, 4*workers)}
	var running sync.WaitGroup
	running.Go(func() {
		defer close(ordered)
		defer close(todo)
		for i := range o.Files {
			if !o.cut(ctx, i, memory, pool, todo, ordered) {
				return
			}
		}
	})
	accounts := make([]importers.Account, workers)
	for i := range workers {
		go func() { // not waited for: one record may take long, and only its batch and account are touched
			h := &hasher{}
			for b := range todo {
				o.convert(b, h, &accounts[i])
				close(b.done)
			}
		}()
	}
	defer running.Wait()
	defer cancel()
	for b := range ordered {
		if b.done != nil {
			select {
			case <-b.done:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for i := range b.parsed {
			if err := use(b.file, &b.parsed[i]); err != nil {
				return err
			}
		}
		memory.Release(b.held)
		if b.err != nil {
			if err := broken(b.file, b.err); err != nil {
				return err
			}
		}
		had, done := progress()
		b.end = had
		pool.put(b, done)
	}
	for i := range accounts { // whose batches are done
		account.Merge(&accounts[i])
	}
	return ctx.Err()
}

// cut cuts a file into batches. It returns false when the import has ended.
func (o *ImportOptions) cut(ctx context.Context, file int, memory *semaphore.Weighted, pool *batches,
	todo, ordered chan<- *batch) bool {
	send := func(b *batch) bool {
		b.held = min(b.bytes, inWork)
		if memory.Acquire(ctx, b.held) != nil {
			return false
		}
		if b.done = make(chan struct{}); len(b.records) == 0 {
			b.done = nil
		} else {
			select {
			case todo <- b:
			case <-ctx.Done():
				return false
			}
		}
		select {
		case ordered <- b:
			return true
		case <-ctx.Done():
			return false
		}
	}
	b := pool.get(file)
	content, err := o.Files[file].Open(ctx)
	if err == nil {
		defer content.Close() // read only: nothing is lost
		for r, bad := range o.Format.Records.All(importers.File{Name: o.Files[file].URI, R: content, Size: content.Size(),
			Companions: o.Files[file].companions(ctx), Options: &importers.Options{Map: o.Fields}}) {
			if bad != nil {
				err = bad
				break
			}
			b.records = append(b.records, r)
			if b.bytes += int64(len(r.Data) + len(r.Context)); b.bytes >= batchBytes || len(b.records) == batchRows {
				if !send(b) {
					return false
				}
				b = pool.get(file)
			}
		}
	}
	if b.err = err; len(b.records) == 0 && err == nil {
		return true
	}
	return send(b)
}

// companions returns the companions of a file, to be read when they are needed.
func (f *File) companions(ctx context.Context) (out []importers.Companion) {
	for _, c := range f.Companions {
		out = append(out, importers.Companion{Name: path.Base(c.Name), Read: func() ([]byte, error) { return c.read(ctx) }})
	}
	return out
}

func (f *File) read(ctx context.Context) ([]byte, error) {
	content, err := f.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer content.Close() // read only: nothing is lost
	if content.Size() > importers.MaxDocument {
		return nil, fmt.Errorf("%q has %d bytes; at most %d MiB are read", f.URI, content.Size(), importers.MaxDocument>>20)
	}
	return io.ReadAll(io.LimitReader(io.NewSectionReader(content, 0, content.Size()), importers.MaxDocument))
}

// convert converts the records of a batch.
func (o *ImportOptions) convert(b *batch, h *hasher, account *importers.Account) {
	n := len(b.records)
	b.parsed, b.rows = slices.Grow(b.parsed, n)[:n], slices.Grow(b.rows, n)[:n]
	free := b.rows
	for i, r := range b.records {
		p := &b.parsed[i]
		p.Record, p.Room = r, &b.room
		p.Convert(&o.Format)
		if p.fresh = account.Add(p.Data, p.Err == nil); p.Err != nil {
			continue
		}
		n := len(p.Items)
		if n > len(free) {
			free = make([]row, n)
		}
		p.rows, free = free[:n:n], free[n:]
		if p.Err = o.rows(p, h); p.Err != nil {
			p.rows = nil
		}
	}
}

// rows makes the rows of a record: its items with what decides their ids and groups.
func (o *ImportOptions) rows(p *parsed, h *hasher) error {
	out := p.rows
	for i := range p.Items {
		r := &out[i]
		r.Item, r.size = &p.Items[i], len(p.Data)
		if o.Train == TrainLast {
			trainLast(&r.Row)
			if err := importers.Finish(r.Item); err != nil {
				return err
			}
		}
		r.redacted = o.Redact.Trajectory(&r.Row)
		if column, n := oversize(&r.Row, len(p.Data)); column != "" {
			return fmt.Errorf("column %s has %d bytes, and a dataset holds at most %d in one row", column, n,
				parquet.MaxColumnBytes)
		}
		if err := o.identify(r, h, p.Data); err != nil {
			return err
		}
		if r.Pair == importers.Rejected && i > 0 && out[i-1].Pair == importers.Chosen {
			r.Row.ExampleID = out[i-1].Row.ExampleID // a preference is one group
		}
		if !r.Final { // as the row is stored, so that import and later stages find the same in it
			withSource(&r.Row)
		}
	}
	return nil
}

// oversize returns the column of a row that no dataset can hold, if there is
// one. Few rows are large enough to be looked at.
func oversize(t *formats.Trajectory, bytes int) (string, int64) {
	if bytes < parquet.MaxColumnBytes/8 { // a text may grow when it is decoded
		return "", 0
	}
	column, n := parquet.Oversize(t)
	return column, int64(n)
}

// trainLast leaves only the last trained answer of the main path to be trained.
func trainLast(t *formats.Trajectory) {
	last := -1
	for _, i := range t.Main() {
		if t.Trained(i) {
			last = i
		}
	}
	for i := range t.Messages {
		if i != last && t.Trained(i) {
			t.Calls[t.Messages[i].Call].Target = false
		}
	}
}

var errNoID = errors.New("the row has no id to look up in the id file")
