package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// errPage marks a page that contradicts its header, its chunk or the file. The
// checks in this file are made before anything is allocated
// for what a page claims.
var errPage = errors.New("damaged page")

func badPage(text string, args ...any) error {
	return fmt.Errorf("%w: %s", errPage, fmt.Sprintf(text, args...))
}

const (
	maxValues  = 1 << 26 // of a page
	readAhead  = 256 << 10
	headerRead = 512 // enough for most page headers
	maxHeader  = 1 << 20
)

// rawPage is a page as stored in the file. Its body is valid until the next.
type rawPage struct {
	header format.PageHeader
	body   []byte
}

// window reads the pages of one chunk in sequence.
type window struct {
	src      io.ReaderAt
	at, end  int64 // of the next page, of the chunk
	buf      []byte
	off      int64 // of buf in the file
	ahead    int64 // to read at once
	protocol thrift.CompactProtocol
}

// have returns n bytes from the position, fewer at the end of the chunk.
func (w *window) have(n int64) ([]byte, error) {
	n = min(n, w.end-w.at)
	if from := w.at - w.off; from >= 0 && from+n <= int64(len(w.buf)) {
		return w.buf[from : from+n], nil
	}
	size := min(max(n, w.ahead), w.end-w.at)
	if int64(cap(w.buf)) < size {
		w.buf = make([]byte, size)
	}
	w.buf, w.off = w.buf[:size], w.at
	if err := readAt(w.src, w.buf, w.at); err != nil {
		w.buf = w.buf[:0]
		return nil, err
	}
	return w.buf[:n], nil
}

// next reads a page, or returns io.EOF at the end of the chunk.
func (w *window) next(p *rawPage) error {
	if w.at >= w.end {
		return io.EOF
	}
	length, err := w.header(&p.header)
	if err != nil {
		return err
	}
	h := &p.header
	if h.CompressedPageSize < 0 || h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPage {
		return badPage("it claims %d bytes, %d inflated", h.CompressedPageSize, h.UncompressedPageSize)
	}
	total := length + int64(h.CompressedPageSize)
	if total > w.end-w.at {
		return badPage("it claims %d bytes where %d are left", total, w.end-w.at)
	}
	data, err := w.have(total)
	if err != nil {
		return err
	}
	p.body = data[length:]
	w.at += total
	if h.CRC != 0 && uint32(h.CRC) != crc32.ChecksumIEEE(p.body) {
		return badPage("its checksum is wrong")
	}
	return nil
}

func (w *window) header(h *format.PageHeader) (length int64, err error) {
	for n := int64(headerRead); ; n = min(n*8, maxHeader) {
		data, err := w.have(n)
		if err != nil {
			return 0, err
		}
		length, err := decodeHeader(&w.protocol, data, h)
		switch {
		case err == nil:
			return int64(length), nil
		case !errors.Is(err, errShort) || int64(len(data)) < n:
			return 0, badPage("its header: %v", err)
		case n >= maxHeader:
			return 0, badPage("its header has more than %d bytes", maxHeader)
		}
	}
}

// decodeHeader decodes the page header at the beginning of data, and returns
// its length. It checks depth and lists first.
func decodeHeader(protocol *thrift.CompactProtocol, data []byte, h *format.PageHeader) (length int, err error) {
	*h = format.PageHeader{}
	if length = ownHeader(data, h); length > 0 {
		return length, nil
	}
	if length, err = measure(data); err != nil {
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
		return nil, badPage("values of %d bits", width)
	}
	rest := data
	for total := uint64(0); total < uint64(n); {
		head, k := binary.Uvarint(rest)
		if k <= 0 {
			return nil, badPage("%d values where there are %d", n, total)
		}
		rest = rest[k:]
		size, count, most := uint64(width+7)/8, head>>1, uint64(n)+7
		if head&1 == 1 {
			size, count, most = count*uint64(width), count*8, uint64(n)+runPadding
		}
		if head>>1 > maxValues || size > uint64(len(rest)) || total+count > most {
			return nil, badPage("a run of %d values among %d", count, n)
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
			return badPage("a delta header of %d bytes", len(data))
		}
		data = data[k:]
		if i == 2 {
			count = v
		}
	}
	if count != uint64(n) {
		return badPage("%d delta values where there are %d", count, n)
	}
	return nil
}

// deltaEnd returns where the DELTA_BINARY_PACKED block of n values at the
// beginning of data ends.
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
	if minis == 0 || minis > block || block > maxValues || block/minis%8 != 0 {
		return 0, badPage("delta blocks of %d values in %d parts", block, minis)
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
		return 0, badPage("delta values are cut short")
	}
	return at, nil
}

// checkLevels checks that entries repeat only at lists that have an element,
// and add one to them, as cursor.entry does for pages that are read.
func (l *leaf) checkLevels(reps, defs []byte) error {
	var lists [256]byte // by definition level: how many of the lists have an element
	for i := range l.lists {
		for def := int(l.lists[i].def); def < len(lists); def++ {
			lists[def] = byte(i + 1)
		}
	}
	before := byte(0)
	for i := 0; i < len(reps); {
		def := defs[i]
		here, n := lists[def], prefixOf(defs[i:], def) // adjacent entries are often of one level
		if reps[i] > min(before, here) || firstAbove(reps[i+1:i+n], int(here)) > int(here) {
			return badPage("entry %d, or one of the %d after it, continues a list that is null or empty (level %d)",
				i, n-1, def)
		}
		before, i = here, i+n
	}
	return nil
}
