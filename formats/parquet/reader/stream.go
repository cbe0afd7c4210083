package reader

import (
	"io"
	"slices"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// stream fetches what a reader needs of a file in an object store, in the order
// in which it needs it, while it decodes what came before. Only the reader's
// goroutine uses it.
//
// The needed ranges are a list of requests (plan). One begins when there is room
// for it, or when the reader waits for it, and its memory is released once all
// chunks have passed it. So a row group may be larger than the memory: its
// columns advance through their requests together.
type stream struct {
	r       *reader
	limit   int64                  // bytes of the requests that have begun
	chunks  map[chunkID][]*request // planned and not passed, ascending
	waiting []*request             // planned and not begun, in order of need
	planned int                    // row groups before this one are
	first   int64                  // first row of that row group
	pages   map[chunkID][]format.PageLocation
	closed  atomic.Bool

	*requests
	follower *reader // read after this one; nil while it is not known
	err      error   // from before its turn
}

// chunkID is a chunk of a reader: its row group and the index of its leaf.
type chunkID struct{ rowGroup, leaf int }

// requestSize returns how many bytes of a large chunk are one request. A reader has
// atOnce requests under way; as much room again, and some more, is for those that
// its columns are in, and for what all row groups share.
func requestSize(f *layout.File) int64 { return max(f.Ahead/(9*layout.AtOnce/4), 64<<10) }

// maxWhole is how many times as large neighbours may be that are one request.
const maxWhole = 3

func newStream(r *reader, shared *requests) *stream {
	return &stream{r: r, limit: r.memoryLimit(), planned: r.rowGroup, first: r.first, chunks: map[chunkID][]*request{},
		pages: map[chunkID][]format.PageLocation{}, requests: shared}
}

// memoryLimit returns how many bytes the reader's requests may have. Where it reads
// no heavy leaf, decoding takes longer than fetching, and half of the file's limit
// is enough.
func (r *reader) memoryLimit() int64 {
	if slices.ContainsFunc(r.leaves, func(l *layout.Leaf) bool { return layout.Heavy[l.Name] }) {
		return r.f.Ahead
	}
	return r.f.Ahead / 2
}

// fetchAhead begins the current row group of a file that is fetched ahead.
func (r *reader) fetchAhead() error {
	if r.f.Ahead == 0 {
		return nil
	}
	if r.stream == nil {
		r.stream = newStream(r, newRequests())
	}
	return r.stream.enter()
}

// source returns the source of a leaf's chunk in the current row group.
func (r *reader) source(leaf int) io.ReaderAt {
	if r.stream == nil {
		return r.f.Src
	}
	return &chunkSource{r.stream, chunkID{r.rowGroup, leaf}}
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
	for id, of := range s.chunks {
		if id.rowGroup < s.r.rowGroup {
			s.pass(id, len(of))
		}
	}
	return s.fill()
}

// pass releases a chunk's first n requests.
func (s *stream) pass(id chunkID, n int) {
	of := s.chunks[id]
	for _, q := range of[:n] {
		s.passed(q)
	}
	if s.chunks[id] = of[n:]; n == len(of) {
		delete(s.chunks, id)
	}
}

// fill begins as many requests as there is room for, plans further row groups
// when all were begun, and then goes on with the next reader.
func (s *stream) fill() error {
	for {
		for len(s.waiting) > 0 {
			q := s.waiting[0]
			if q.users > 0 && q.done == nil {
				if s.held > 0 && s.held+q.End-q.Off > s.limit {
					return nil
				}
				s.begin(q)
			}
			s.waiting = s.waiting[1:]
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

// chunkSource is the stream as one chunk is read, forwards.
type chunkSource struct {
	*stream
	id chunkID
}

// ReadAt copies from the chunk's requests, and waits for them. What is in none is
// read from the file.
func (s *chunkSource) ReadAt(p []byte, off int64) (n int, err error) {
	passed := 0
	for of := s.chunks[s.id]; passed < len(of) && of[passed].End <= off; passed++ {
	}
	s.pass(s.id, passed)
	if err := s.fill(); err != nil {
		return 0, err
	}
	for _, q := range s.chunks[s.id] {
		at := off + int64(n)
		if at >= q.End {
			continue
		}
		if to := int(min(int64(len(p)), q.Off-off)); to > n {
			k, err := s.r.f.Src.ReadAt(p[n:to], at)
			if n += k; n < to {
				return n, err
			}
			at = off + int64(n)
		}
		if n == len(p) {
			return n, nil
		}
		s.begin(q)
		if <-q.done; q.err != nil {
			return n, q.err
		}
		n += copy(p[n:], q.Data[at-q.Off:])
	}
	if n == len(p) {
		return n, nil
	}
	k, err := s.r.f.Src.ReadAt(p[n:], off+int64(n))
	return n + k, err
}

// close ends the stream: no request begins any more, and those under way end by themselves.
func (s *stream) close() {
	s.closed.Store(true)
	for id, of := range s.chunks {
		s.pass(id, len(of))
	}
	s.waiting = nil
}
