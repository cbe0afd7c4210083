package parquet

import (
	"io"
	"math"
	"slices"

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
	limit   int64    // bytes of the pieces that have begun
	pieces  []*piece // planned and not released, in no order
	order   []*piece // planned and not begun, in order of need
	planned int      // row groups before this one are
	first   int64    // first row of that row group
	pages   map[chunkID][]format.PageLocation

	passed []int64 // by leaf of the reader: its position in the current row group

	*pool
	follower *reader // read after this one; nil while it is not known
	err      error   // from before its turn
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
	src   io.ReaderAt
	done  chan struct{} // closed when data or err is set
	err   error
}

// use is where a leaf's need of a piece ends.
type use struct {
	leaf int
	end  int64
}

// pieceSize returns the most bytes of a piece of a large range. A reader has
// atOnce pieces under way; as much room again, and some more, is for those that
// its columns are in, and for what all row groups share.
func (f *File) pieceSize() int64 { return max(f.ahead/(9*atOnce/4), nearGap) }

// wholePieces is how many times as large a range may be that is one piece.
const wholePieces = 3

func newStream(r *reader, o *pool) *stream {
	return &stream{r: r, limit: r.memoryLimit(), planned: r.group, first: r.first, pages: map[chunkID][]format.PageLocation{},
		passed: make([]int64, len(r.leaves)), pool: o}
}

// memoryLimit returns how many bytes the reader's pieces may have. Where it reads no heavy
// leaf, decoding takes longer than fetching, and half of the file's limit is
// enough: as much as it plans together.
func (r *reader) memoryLimit() int64 {
	if slices.ContainsFunc(r.leaves, func(l *leaf) bool { return heavy[l.name] }) {
		return r.f.ahead
	}
	return r.f.ahead / 2
}

// fetchAhead begins the current row group of a file that is fetched ahead.
func (r *reader) fetchAhead() error {
	if r.f.ahead == 0 {
		return nil
	}
	if r.stream == nil {
		r.stream = newStream(r, new(pool))
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
	if s.err != nil {
		return s.err
	}
	clear(s.passed)
	s.release()
	return s.fill()
}

// fill begins as many pieces as there is room for, plans further row groups
// when all pieces were begun, and then goes on with the next reader.
func (s *stream) fill() error {
	for {
		for len(s.order) > 0 {
			p := s.order[0]
			if !p.begun && s.held > 0 && s.held+p.end-p.off > s.limit {
				return nil
			}
			s.begin(p)
			s.order = s.order[1:]
		}
		if s.held >= s.limit {
			return nil
		}
		if more, err := s.plan(); err != nil {
			return err
		} else if !more {
			s.prefetchNext()
			return nil
		}
	}
}

func (s *stream) begin(p *piece) {
	if !p.begun {
		s.pool.begin(p, s.r.f.src, s.limit)
	}
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
		if !p.fetched() {
			return false
		}
		s.recycle(p)
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
func (s *stream) close() {
	s.forget(s.pieces)
	s.pieces, s.order = nil, nil
}
