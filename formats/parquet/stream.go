package parquet

import (
	"io"
	"math"
	"slices"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/format"
)

// stream fetches what a reader needs of a file in an object store, in the order
// in which it needs it, while it decodes what came before. Only the reader's
// goroutine uses it.
//
// The wanted chunks are planned for many row groups together: near ones are one
// range (join), and a large range is several pieces. A piece begins when there
// is room for it, or when the reader waits for it, and its memory is used again
// once all columns have passed it. So a row group may be larger than the memory:
// its columns advance through their pieces together.
type stream struct {
	r       *reader
	pieces  []*piece // planned and not released, in no order
	order   []*piece // planned and not begun, in order of need
	planned int      // row groups before this one are
	first   int64    // first row of that row group
	pages   map[chunkID][]format.PageLocation

	held, most int64 // bytes of the pieces that were begun, now and at most
	free       [][]byte
	slots      chan struct{}
	closed     atomic.Bool
	passed     []int64 // by leaf of the reader: its position in the current row group
}

// chunkID is a chunk of a reader: its row group and the index of its leaf.
type chunkID struct{ group, leaf int }

// piece is a range of the file that is fetched with one request.
type piece struct {
	extent
	need  float64 // row group and fraction of its rows from which on it is needed
	group int     // the last row group that needs it
	ends  []use   // what that row group needs of it
	begun bool
	done  chan struct{} // closed when data or err is set
	err   error
}

// use is where a leaf's need of a piece ends.
type use struct {
	leaf int
	end  int64
}

// pieceSize returns the bytes of the pieces of a large range. A range of up to
// two of them is one piece. A reader has atOnce of them under way, and decodes
// from others.
func (f *File) pieceSize() int64 { return max(f.ahead/(3*atOnce/2), nearGap) }

func newStream(r *reader) *stream {
	return &stream{r: r, planned: r.group, first: r.first, pages: map[chunkID][]format.PageLocation{},
		slots: make(chan struct{}, atOnce), passed: make([]int64, len(r.leaves))}
}

// fetchAhead begins the current row group of a file that is fetched ahead.
func (r *reader) fetchAhead() error {
	if r.f.ahead == 0 {
		return nil
	}
	if r.stream == nil {
		r.stream = newStream(r)
	}
	return r.stream.enter()
}

// source returns the source of a leaf's chunk in the current row group.
func (r *reader) source(leaf int) io.ReaderAt {
	if r.stream == nil {
		return r.f.src
	}
	return &chunkSource{r.stream, leaf}
}

// pagesAhead returns the pages of a chunk of which only some are fetched.
func (r *reader) pagesAhead(id chunkID) (pages []format.PageLocation, some bool) {
	if r.stream != nil {
		pages, some = r.stream.pages[id]
	}
	return pages, some
}

// enter begins a row group: what only earlier ones needed is released.
func (s *stream) enter() error {
	clear(s.passed)
	s.release()
	return s.fill()
}

// fill begins as many pieces as there is room for, and plans further row groups
// when all pieces were begun.
func (s *stream) fill() error {
	for {
		for len(s.order) > 0 {
			p := s.order[0]
			if !p.begun && s.held > 0 && s.held+p.end-p.off > s.r.f.ahead {
				return nil
			}
			s.begin(p)
			s.order = s.order[1:]
		}
		if s.held > 0 && s.held >= s.r.f.ahead/2 {
			return nil
		}
		if more, err := s.plan(); !more || err != nil {
			return err
		}
	}
}

func (s *stream) begin(p *piece) {
	if p.begun {
		return
	}
	p.begun = true
	size := p.end - p.off
	s.held += size
	s.most = max(s.most, s.held)
	for i, b := range s.free {
		if int64(cap(b)) >= size {
			p.data, s.free = b[:size], slices.Delete(s.free, i, i+1)
			break
		}
	}
	if p.data == nil {
		p.data = make([]byte, size)
	}
	src := s.r.f.src
	go func() {
		defer close(p.done)
		s.slots <- struct{}{}
		defer func() { <-s.slots }()
		if !s.closed.Load() {
			p.err = readAt(src, p.data, p.off)
		}
	}()
}

// release forgets the pieces that every column has passed.
func (s *stream) release() {
	s.pieces = slices.DeleteFunc(s.pieces, func(p *piece) bool {
		if p.group > s.r.group {
			return false
		}
		for _, u := range p.ends {
			if p.group == s.r.group && s.passed[u.leaf] < u.end {
				return false
			}
		}
		if !p.begun {
			p.begun = true // never: nobody needs it
			return true
		}
		select {
		case <-p.done:
		default:
			return false
		}
		s.held -= p.end - p.off
		if int64(cap(p.data)) <= 2*s.r.f.pieceSize() && len(s.free) < 2*atOnce {
			s.free = append(s.free, p.data)
		}
		return true
	})
}

// chunkSource is the stream as one column reads it, forwards.
type chunkSource struct {
	*stream
	leaf int
}

// ReadAt copies from the pieces, and waits for them. What is in no piece is read
// from the file.
func (s *chunkSource) ReadAt(p []byte, off int64) (n int, err error) {
	if off > s.passed[s.leaf] {
		s.passed[s.leaf] = off
		s.release()
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	for n < len(p) {
		at := off + int64(n)
		from, next := s.at(at)
		if from == nil {
			to := int(min(int64(len(p)), next-off))
			k, err := s.r.f.src.ReadAt(p[n:to], at)
			if n += k; n < to {
				return n, err
			}
			continue
		}
		s.begin(from)
		if <-from.done; from.err != nil {
			return n, from.err
		}
		n += copy(p[n:], from.data[at-from.off:])
	}
	return n, nil
}

// at returns the piece that has a byte of the file; if none has it, where the
// next one begins.
func (s *stream) at(off int64) (has *piece, next int64) {
	next = math.MaxInt64
	for _, p := range s.pieces {
		if off >= p.off && off < p.end {
			return p, 0
		}
		if p.off > off {
			next = min(next, p.off)
		}
	}
	return nil, next
}

// close ends the stream; requests that have begun end by themselves.
func (s *stream) close() { s.closed.Store(true) }
