package layout

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/storage/fault"
)

const (
	AtOnce = 8       // concurrent requests
	MaxGap = 1 << 20 // bytes between two ranges that are read to save a request

	// The same if only some pages of large chunks are read: then the pages of a row
	// group are one request, and the light columns another. With maxGap they were 5
	// to 7 in files of 9 to 29 MB, and read 1 to 4 MB instead of 9.
	PageGap = HeavyBytes / 2
)

// OpenAhead is Open with File.Ahead set to a limit, for a source in which each read is a
// request: it keeps what was read for the footer, so that a small file needs no
// other request. A few adjacent rows then cost at most two further requests in
// most files of a Writer. In files whose row groups have tens of MB, such as those
// of other tools, they cost a request for each large column, all at once: to read
// what lies between would take longer.
func OpenAhead(src io.ReaderAt, size int64, name string, limit int64) (*File, error) {
	end := Extent{Off: max(0, size-guess), End: max(0, size)}
	end.Data = make([]byte, end.End-end.Off)
	if err := ReadAt(src, end.Data, end.Off); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fault.Invalid(name, "", err, "truncated")
		}
		return nil, err
	}
	return openWith(src, size, name, limit, end)
}

// OpenAgain is OpenAhead for a file that was opened before, without a request:
// end is what End returned then.
func OpenAgain(src io.ReaderAt, size int64, name string, limit int64, end []byte) (*File, error) {
	return openWith(src, size, name, limit, Extent{size - int64(len(end)), size, end})
}

// End returns what OpenAhead read of the file for its footer; nil if the file was opened otherwise.
func (f *File) End() []byte {
	if s, is := f.Src.(*fetched); is {
		return s.Extents[0].Data
	}
	return nil
}

// openWith opens a file whose end is in memory.
func openWith(src io.ReaderAt, size int64, name string, limit int64, end Extent) (*File, error) {
	f, err := Open(&fetched{src, []Extent{end}}, size, name)
	if err == nil {
		f.Ahead = limit
	}
	return f, err
}

// FetchedFrom returns from which byte on the file is in memory.
func (f *File) FetchedFrom() int64 {
	if s, is := f.Src.(*fetched); is {
		return s.Extents[0].Off
	}
	return math.MaxInt64
}

// Extent is a range of a file, and the bytes fetched of it.
type Extent struct {
	Off, End int64
	Data     []byte
}

// fetched is a source of which some ranges are in memory.
type fetched struct {
	io.ReaderAt
	Extents []Extent
}

func (s *fetched) ReadAt(p []byte, off int64) (int, error) {
	for _, e := range s.Extents {
		if off >= e.Off && off+int64(len(p)) <= e.End {
			return copy(p, e.Data[off-e.Off:]), nil
		}
	}
	return s.ReaderAt.ReadAt(p, off)
}

// Fetch reads ranges into memory, with several concurrent requests.
func (f *File) Fetch(wanted []Extent) (*fetched, error) {
	slices.SortFunc(wanted, func(a, b Extent) int { return cmp.Compare(a.Off, b.Off) })
	var joined []Extent
	for _, e := range wanted {
		if n := len(joined); n > 0 && e.Off <= joined[n-1].End+MaxGap {
			joined[n-1].End = max(joined[n-1].End, e.End)
			continue
		}
		joined = append(joined, e)
	}
	var all errgroup.Group
	all.SetLimit(AtOnce)
	for i := range joined {
		all.Go(func() error {
			e := &joined[i]
			e.Data = make([]byte, e.End-e.Off)
			return ReadAt(f.Src, e.Data, e.Off)
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return &fetched{f.Src, joined}, nil
}
