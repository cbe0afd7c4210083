package page

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

const (
	MaxValues  = 1 << 26 // of a page
	ReadAhead  = 256 << 10
	HeaderRead = 512 // enough for most page headers
	maxHeader  = 1 << 20
)

// RawPage is a page as stored in the file. Its body is valid until the next.
type RawPage struct {
	Header format.PageHeader
	body   []byte
}

// Window reads the pages of one chunk in sequence.
type Window struct {
	Src      io.ReaderAt
	At, End  int64 // of the next page, of the chunk
	Buf      []byte
	off      int64 // of buf in the file
	Ahead    int64 // to read at once
	protocol thrift.CompactProtocol
}

// have returns n bytes from the position, fewer at the end of the chunk.
func (w *Window) have(n int64) ([]byte, error) {
	n = min(n, w.End-w.At)
	if from := w.At - w.off; from >= 0 && from+n <= int64(len(w.Buf)) {
		return w.Buf[from : from+n], nil
	}
	size := min(max(n, w.Ahead), w.End-w.At)
	if int64(cap(w.Buf)) < size {
		w.Buf = make([]byte, size)
	}
	w.Buf, w.off = w.Buf[:size], w.At
	if err := layout.ReadAt(w.Src, w.Buf, w.At); err != nil {
		w.Buf = w.Buf[:0]
		return nil, err
	}
	return w.Buf[:n], nil
}

// Next reads a page, or returns io.EOF at the end of the chunk.
func (w *Window) Next(p *RawPage) error {
	if w.At >= w.End {
		return io.EOF
	}
	length, err := w.Header(&p.Header)
	if err != nil {
		return err
	}
	h := &p.Header
	if h.CompressedPageSize < 0 || h.UncompressedPageSize < 0 || h.UncompressedPageSize > layout.MaxPage {
		return layout.BadPage("it claims %d bytes, %d inflated", h.CompressedPageSize, h.UncompressedPageSize)
	}
	total := length + int64(h.CompressedPageSize)
	if total > w.End-w.At {
		return layout.BadPage("it claims %d bytes where %d are left", total, w.End-w.At)
	}
	data, err := w.have(total)
	if err != nil {
		return err
	}
	p.body = data[length:]
	w.At += total
	if h.CRC != 0 && uint32(h.CRC) != crc32.ChecksumIEEE(p.body) {
		return layout.BadPage("its checksum is wrong")
	}
	return nil
}

// Header reads the header of the next page, and returns its length.
func (w *Window) Header(h *format.PageHeader) (length int64, err error) {
	for n := int64(HeaderRead); ; n = min(n*8, maxHeader) {
		data, err := w.have(n)
		if err != nil {
			return 0, err
		}
		length, err := DecodeHeader(&w.protocol, data, h)
		switch {
		case err == nil:
			return int64(length), nil
		case !errors.Is(err, layout.ErrShort) || int64(len(data)) < n:
			return 0, layout.BadPage("its header: %v", err)
		case n >= maxHeader:
			return 0, layout.BadPage("its header has more than %d bytes", maxHeader)
		}
	}
}

// DecodeHeader decodes the page header at the beginning of data, and returns
// its length. It checks depth and lists first.
func DecodeHeader(protocol *thrift.CompactProtocol, data []byte, h *format.PageHeader) (length int, err error) {
	if length, err = layout.Measure(data); err != nil {
		return 0, err
	}
	*h = format.PageHeader{}
	return length, thrift.NewDecoder(protocol.NewReaderFromBytes(data[:length])).Decode(h)
}

// runPadding is the largest number of padding values in a last bit-packed run:
// its groups have 8 values, and DuckDB writes 32 groups at once.
const runPadding = 255

// checkRuns walks levels or indexes in the hybrid of RLE and bit-packing, whose
// runs may claim any length: they must give n values, plus the padding of the
// last run. It returns the bytes that hold them.
func checkRuns(data []byte, width, n int) ([]byte, error) {
	if width > 32 {
		return nil, layout.BadPage("values of %d bits", width)
	}
	rest := data
	for total := uint64(0); total < uint64(n); {
		head, k := binary.Uvarint(rest)
		if k <= 0 {
			return nil, layout.BadPage("%d values where there are %d", n, total)
		}
		rest = rest[k:]
		size, count, most := uint64(width+7)/8, head>>1, uint64(n)+7
		if head&1 == 1 {
			size, count, most = count*uint64(width), count*8, uint64(n)+runPadding
		}
		if head>>1 > MaxValues || size > uint64(len(rest)) || total+count > most {
			return nil, layout.BadPage("a run of %d values among %d", count, n)
		}
		rest = rest[size:]
		total += count
	}
	return data[:len(data)-len(rest)], nil
}

// checkDelta compares the number of values that a DELTA_BINARY_PACKED block
// claims with the number that there must be.
func checkDelta(data []byte, n int) error {
	var count uint64
	for i := range 3 { // block size, mini-blocks, values
		v, k := binary.Uvarint(data)
		if k <= 0 {
			return layout.BadPage("a delta header of %d bytes", len(data))
		}
		data = data[k:]
		if i == 2 {
			count = v
		}
	}
	if count != uint64(n) {
		return layout.BadPage("%d delta values where there are %d", count, n)
	}
	return nil
}

// deltaEnd returns where the DELTA_BINARY_PACKED block of n values at the beginning of data ends.
func deltaEnd(data []byte, n int) (int, error) {
	at := 0
	next := func() uint64 {
		v, k := binary.Uvarint(data[min(at, len(data)):])
		at += max(k, 1) // one that is cut short is detected at the end
		return v
	}
	block, minis := next(), next()
	next() // the number of values
	next() // the first
	if minis == 0 || minis > block || block > MaxValues || block/minis%8 != 0 {
		return 0, layout.BadPage("delta blocks of %d values in %d parts", block, minis)
	}
	each := int(block / minis)
	for left := n - 1; left > 0; {
		next() // the least difference
		widths := data[min(at, len(data)):]
		widths = widths[:min(int(minis), len(widths))]
		if len(widths) < int(minis) {
			break
		}
		at += len(widths)
		for _, width := range widths {
			if left <= 0 {
				break
			}
			at += each / 8 * int(width)
			left -= each
		}
	}
	if at > len(data) {
		return 0, layout.BadPage("delta values are cut short")
	}
	return at, nil
}
