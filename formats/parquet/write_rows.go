package parquet

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/parquet-go/parquet-go/format"
	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// Writer writes rows of one kind as one Parquet file. The same rows in the same
// calls give the same bytes. Its memory is two row groups, compressed, but for
// the pages that it copies unchanged, and about 200 bytes a row of light chunks.
// A Writer is for one goroutine; it compresses columns on several, and ends a
// row group while the next is filled, so it writes to its output until Close
// or Abandon returns.
type Writer[T any] struct {
	layout *layout.Layout
	file   *fileWriter
	sizes  []int64 // of the last example group, by column: see measure

	together []together // of the last WriteGroups, by column

	current, spare *rowGroupBuffer
	ending         chan error     // of the row group before; nil for none
	endingRanges   []rowRange     // its ranges, until it has ended
	sources        []*layout.File // files with pages that are copied when the file is closed

	rows                    int64 // of the file
	endedBytes, endingBytes int64 // stored bytes of row groups that have ended, and of the one that is ending
	deferred                int64 // of the ended bytes, those in memory
	ended                   int   // row groups
	failed                  error
	closed                  bool
}

// rowGroupBuffer is the buffered entries of one row group.
type rowGroupBuffer struct {
	chunks []*chunk // by column
	heavy  []*chunk
	ranges []rowRange // rows whose payload is still to be copied
	rows   int64
	bytes  int64 // uncompressed
}

func newRowGroupBuffer(l *layout.Layout) *rowGroupBuffer {
	g := &rowGroupBuffer{}
	for i := range l.Leaves {
		c := newChunk(l, i)
		g.chunks = append(g.chunks, c)
		if c.heavy {
			g.heavy = append(g.heavy, c)
		}
	}
	return g
}

func (g *rowGroupBuffer) reset() {
	for _, c := range g.chunks {
		c.reset()
	}
	g.ranges, g.rows, g.bytes = nil, 0, 0
}

// NewWriter begins a file on out. T is a struct with parquet tags, as in package formats.
func NewWriter[T any](out io.Writer) *Writer[T] {
	l := layout.Of[T]()
	return newWriter[T](out, l, newRowGroupBuffer(l))
}

// used are buffers that Encode has used, by layout: a journal encodes many small files of one kind.
var used sync.Map

// Encode returns a file of rows in memory; note may add to its footer.
func Encode[T any](rows []T, note func(*Writer[T])) ([]byte, error) {
	l := layout.Of[T]()
	pool, _ := used.LoadOrStore(l, &sync.Pool{New: func() any { return newRowGroupBuffer(l) }})
	var out bytes.Buffer
	w := newWriter[T](&out, l, pool.(*sync.Pool).Get().(*rowGroupBuffer))
	if err := w.Write(rows); err != nil {
		return nil, err
	}
	note(w)
	if err := w.Close(); err != nil {
		return nil, err
	}
	if w.spare != nil {
		pool.(*sync.Pool).Put(w.spare)
	}
	return out.Bytes(), nil
}

func newWriter[T any](out io.Writer, l *layout.Layout, empty *rowGroupBuffer) *Writer[T] {
	w := &Writer[T]{layout: l, sizes: make([]int64, len(l.Leaves)), current: empty}
	w.file = newFileWriter(out, l, w.current.chunks)
	return w
}

// Write adds one example group: its rows stay in one row group, and their heavy pages
// begin with them. After an error the file cannot be finished.
func (w *Writer[T]) Write(rows []T) error { return w.WritePiece(rows, true) }

// WritePiece adds rows of the example group of the rows before, unless they are its first. A group in pieces needs
// a row group of its own: EndRowGroup goes before and after it.
func (w *Writer[T]) WritePiece(rows []T, first bool) error {
	if w.closed {
		return fmt.Errorf("write Parquet: %w", io.ErrClosedPipe)
	}
	if w.failed == nil && len(rows) > 0 {
		w.failed = w.add(rows, first)
	}
	return w.failed
}

func (w *Writer[T]) add(rows []T, first bool) error {
	in := layout.RowSliceOf(rows)
	if err := w.checkRows(in); err != nil {
		return err
	}
	total := w.measure(in)
	g := w.current
	if first && g.rows > 0 && (len(g.ranges) > 0 || g.full(int64(len(rows)), total)) {
		if err := w.flush(); err != nil {
			return err
		}
		g = w.current
	}
	// A leaf for which the example group alone fills a page shares no page.
	if err := endPages(g.heavy, func(c *chunk) bool { return w.sizes[c.Node.Leaf] >= joinPage }); err != nil {
		return err
	}
	if err := g.addRows(in, w.sizes); err != nil {
		return err
	}
	w.rows += int64(len(rows))
	g.rows += int64(len(rows))
	g.bytes += total
	return endPages(g.chunks, func(c *chunk) bool {
		if !first && len(c.defs) >= pageBytes/4 { // nulls have no size
			return true
		}
		if c.heavy { // the rest of a split group must not be joined with the next
			return c.size >= joinPage || w.sizes[c.Node.Leaf] > splitPage
		}
		return c.size >= pageBytes
	})
}

// full reports whether an example group with this many rows and bytes belongs in the next
// row group. Its heavy pages are assumed to have half its bytes.
func (g *rowGroupBuffer) full(rows, bytes int64) bool {
	return g.rows+rows > rowGroupRows || g.bytes+bytes > rowGroupBytes || g.heavySize()+bytes/2 > layout.HeavyBytes ||
		g.tokenSize() > tokenBytes
}

// heavySize returns the bytes of the heavy pages so far.
func (g *rowGroupBuffer) heavySize() (bytes int64) {
	for _, c := range g.heavy {
		bytes += int64(c.body.Len())
	}
	return bytes
}

// addRows adds the rows of an example group whose columns have these sizes.
func (g *rowGroupBuffer) addRows(rows layout.RowSlice, sizes []int64) error {
	for _, c := range g.chunks {
		if c.paged {
			if err := c.addExampleGroup(rows); err != nil {
				return err
			}
			continue
		}
		if !c.heavy || sizes[c.Node.Leaf] <= splitPage {
			c.columnBuffer.addRows(rows)
			continue
		}
		for i := range rows.N {
			c.addRow(rows.At(i))
			if c.size < pageBytes {
				continue
			}
			if err := c.endPage(); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRows refuses a row with more bytes in a heavy column than fit in a page.
func (w *Writer[T]) checkRows(rows layout.RowSlice) error {
	for i := range rows.N {
		for _, c := range w.current.heavy {
			if n := c.Bytes(rows.At(i), c.Lists); n > layout.MaxColumnBytes {
				return fmt.Errorf("row %d: %s has %d bytes; at most %d fit in a page", w.rows+int64(i), c.Name, n,
					layout.MaxColumnBytes)
			}
		}
	}
	return nil
}

// measure returns the uncompressed size of an example group, and sets those of its
// columns. Without heavy leaves it measures nothing: row groups are bounded by rows.
func (w *Writer[T]) measure(rows layout.RowSlice) (total int64) {
	if len(w.current.heavy) == 0 {
		return 0
	}
	for i, c := range w.current.chunks {
		w.sizes[i] = c.BytesOf(rows)
		total += w.sizes[i]
	}
	return total
}

// endPages ends the pages of some columns, each on its own processor:
// compressing them is most of the work of writing.
func endPages(columns []*chunk, full func(*chunk) bool) error {
	var some []*chunk
	for _, c := range columns {
		if full(c) {
			some = append(some, c)
		}
	}
	if len(some) == 1 {
		return some[0].endPage()
	}
	if len(some) == 0 {
		return nil
	}
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range some {
		all.Go(c.endPage)
	}
	return all.Wait()
}

// flush starts to end the row group while the next is filled.
func (w *Writer[T]) flush() error {
	if err := w.awaitRowGroup(); err != nil || w.current.rows == 0 {
		return err
	}
	w.ended++
	g, done := w.current, make(chan error, 1)
	w.ending, w.endingRanges, w.endingBytes = done, g.ranges, g.stored()
	if w.current, w.spare = w.spare, g; w.current == nil {
		w.current = newRowGroupBuffer(w.layout)
	}
	go func() { done <- g.end(w.file) }()
	return nil
}

func (w *Writer[T]) awaitRowGroup() error {
	if w.ending == nil {
		return nil
	}
	err := <-w.ending
	w.ending, w.endingRanges, w.sources = nil, nil, w.file.deferredFiles()
	w.endedBytes, w.endingBytes, w.deferred = w.file.at+w.file.deferredBytes, 0, w.file.heldBytes
	w.spare.reset()
	return err
}

// end makes a row group from the buffered entries. Chunks that are
// deferred to the end of the file are made while the others are written.
func (g *rowGroupBuffer) end(t *fileWriter) error {
	batches, err := g.batches()
	if err != nil {
		return err
	}
	finish := func(deferred bool) error {
		var all errgroup.Group
		all.SetLimit(runtime.GOMAXPROCS(0))
		for i, c := range g.chunks {
			if t.deferred[i] == deferred {
				all.Go(func() error { return c.finish(batches) })
			}
		}
		return all.Wait()
	}
	if err := finish(false); err != nil {
		return err
	}
	var light errgroup.Group
	light.Go(func() error { return finish(true) })
	err = t.addRowGroup(g.chunks, g.rows)
	if e := light.Wait(); err == nil {
		err = e
	}
	if err == nil {
		t.deferChunks(g.chunks)
	}
	return err
}

func (g *rowGroupBuffer) stored() (bytes int64) {
	for _, c := range g.chunks {
		bytes += c.stored()
	}
	return bytes
}

// Ended returns how many row groups have ended, or are ending.
func (w *Writer[T]) Ended() int { return w.ended }

// Fits reports whether an example group of this many rows fits into the row group.
func (w *Writer[T]) Fits(rows int) bool { return w.current.rows+int64(rows) <= rowGroupRows }

// Rows returns how many rows were written.
func (w *Writer[T]) Rows() int64 { return w.rows }

// Size returns the size of the file in bytes; before Close, about the size so
// far. It is the same after the same calls.
func (w *Writer[T]) Size() int64 {
	if w.closed {
		return w.endedBytes
	}
	return w.endedBytes + w.endingBytes + w.current.stored()
}

// Deferred returns how many bytes of ended row groups are in memory until the end of the file.
func (w *Writer[T]) Deferred() int64 { return w.deferred }

// RowGroups returns the number of rows of each row group; complete after Close.
func (w *Writer[T]) RowGroups() []int64 {
	out := make([]int64, len(w.file.meta.RowGroups))
	for i := range out {
		out[i] = w.file.meta.RowGroups[i].NumRows
	}
	return out
}

// FooterDigest returns the SHA-256 of the file's footer, from its first byte to
// the file's end, in hex; "" before Close.
func (w *Writer[T]) FooterDigest() string { return w.file.footerDigest }

// Note adds a pair to the footer's key-value metadata, for consumers that look for it.
func (w *Writer[T]) Note(key, value string) {
	w.file.meta.KeyValueMetadata = append(w.file.meta.KeyValueMetadata, format.KeyValue{Key: key, Value: value})
}

// Close writes the rest and the footer. It does not close the output.
func (w *Writer[T]) Close() error {
	if w.closed {
		return w.failed
	}
	if err := w.endRowGroup(); err != nil {
		return err
	}
	w.closed, w.sources = true, nil
	w.failed = w.file.close()
	w.endedBytes = w.file.at
	return w.failed
}

// EndRowGroup ends the row group, after which no file is held (see Holds).
func (w *Writer[T]) EndRowGroup() error {
	if err := w.endRowGroup(); err != nil || w.closed || len(w.sources) == 0 {
		return err
	}
	w.failed = w.file.loadDeferred()
	w.deferred, w.sources = w.file.heldBytes, nil
	return w.failed
}

func (w *Writer[T]) endRowGroup() error {
	if w.closed {
		return w.failed
	}
	if w.failed == nil {
		w.failed = w.flush()
	}
	if err := w.awaitRowGroup(); w.failed == nil {
		w.failed = err
	}
	return w.failed
}

// CutRowGroup makes the next rows begin a row group.
func (w *Writer[T]) CutRowGroup() error {
	if w.failed == nil && !w.closed {
		w.failed = w.flush()
	}
	return w.failed
}

// Abandon ends a file that is not needed: nothing more is written to its output
// or read from the files that it holds.
func (w *Writer[T]) Abandon() {
	_ = w.awaitRowGroup()
	if w.failed == nil {
		w.failed = fmt.Errorf("write Parquet: %w", io.ErrClosedPipe)
	}
}
