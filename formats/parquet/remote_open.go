package parquet

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/storage/fault"
)

const (
	atOnce = 8       // concurrent requests
	maxGap = 1 << 20 // bytes between two ranges that are read to save a request

	// The same if only some pages of large chunks are read: then the pages of a row
	// group are one request, and the light columns another. With maxGap they were 5
	// to 7 in files of 9 to 29 MB, and read 1 to 4 MB instead of 9.
	pageGap = heavyBytes / 2
)

// FetchAhead makes readers of the file fetch what they need in a few large
// requests before they need it, for an object store (see stream). They hold at
// most limit bytes of it, or a request for each column if these are more. Call it
// before NewReader.
func (f *File) FetchAhead(limit int64) { f.ahead = limit }

// OpenAhead is Open with FetchAhead, for a source in which each read is a
// request: it keeps what was read for the footer, so that a small file needs no
// other request. A few adjacent rows then cost at most two further requests in
// most files of a Writer. In files whose row groups have tens of MB, such as those
// of other tools, they cost a request for each large column, all at once: to read
// what lies between would take longer.
func OpenAhead(src io.ReaderAt, size int64, name string, limit int64) (*File, error) {
	return openAhead(src, size, name, limit, codecs)
}

// OpenAgain is OpenAhead for a file that was opened before, without a request:
// end is what End returned then.
func OpenAgain(src io.ReaderAt, size int64, name string, limit int64, end []byte) (*File, error) {
	return openWith(src, size, name, limit, extent{size - int64(len(end)), size, end}, codecs)
}

// End returns what OpenAhead read of the file for its footer; nil if the file was
// opened otherwise.
func (f *File) End() []byte {
	if s, is := f.src.(*fetched); is {
		return s.extents[0].data
	}
	return nil
}

func openAhead(src io.ReaderAt, size int64, name string, limit int64, codecs []format.CompressionCodec) (*File, error) {
	end := extent{off: max(0, size-guess), end: max(0, size)}
	end.data = make([]byte, end.end-end.off)
	if err := readAt(src, end.data, end.off); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fault.Invalid(name, "", err, "truncated")
		}
		return nil, err
	}
	return openWith(src, size, name, limit, end, codecs)
}

// openWith opens a file whose end is in memory.
func openWith(src io.ReaderAt, size int64, name string, limit int64, end extent,
	codecs []format.CompressionCodec) (*File, error) {
	f, err := open(&fetched{src, []extent{end}}, size, name, codecs)
	if err != nil {
		return nil, err
	}
	f.FetchAhead(limit)
	return f, nil
}

// fetchedFrom returns from which byte on the file is in memory.
func (f *File) fetchedFrom() int64 {
	if s, is := f.src.(*fetched); is {
		return s.extents[0].off
	}
	return math.MaxInt64
}

// extent is a range of a file, and the bytes fetched of it.
type extent struct {
	off, end int64
	data     []byte
}

// fetched is a source of which some ranges are in memory.
type fetched struct {
	io.ReaderAt
	extents []extent
}

func (s *fetched) ReadAt(p []byte, off int64) (int, error) {
	for _, e := range s.extents {
		if off >= e.off && off+int64(len(p)) <= e.end {
			return copy(p, e.data[off-e.off:]), nil
		}
	}
	return s.ReaderAt.ReadAt(p, off)
}

// fetch reads ranges into memory, with several concurrent requests.
func (f *File) fetch(wanted []extent) (*fetched, error) {
	slices.SortFunc(wanted, func(a, b extent) int { return cmp.Compare(a.off, b.off) })
	var joined []extent
	for _, e := range wanted {
		if n := len(joined); n > 0 && e.off <= joined[n-1].end+maxGap {
			joined[n-1].end = max(joined[n-1].end, e.end)
			continue
		}
		joined = append(joined, e)
	}
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i := range joined {
		all.Go(func() error {
			e := &joined[i]
			e.data = make([]byte, e.end-e.off)
			return readAt(f.src, e.data, e.off)
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return &fetched{f.src, joined}, nil
}
