package arrow

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	flatbuffers "github.com/google/flatbuffers/go"
)

// framed passes a stream of Arrow messages on after checking each message's
// metadata: arrow-go allocates the lengths that the metadata claims, and a
// process that runs out of memory cannot recover.
type framed struct {
	src  *bufio.Reader
	head []byte // checked, to be passed on
	body int64  // bytes to pass on after it
}

// The limits of one message in a program's stream.
const (
	maxMetadata = 1 << 20
	maxBody     = 64 << 20
	maxFields   = 1000
	maxDepth    = 16
)

func (f *framed) Read(p []byte) (int, error) {
	if len(f.head) == 0 && f.body == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	if len(f.head) > 0 {
		n := copy(p, f.head)
		f.head = f.head[n:]
		return n, nil
	}
	n, err := f.src.Read(p[:min(int64(len(p)), f.body)])
	f.body -= int64(n)
	if err == io.EOF && f.body > 0 {
		err = fmt.Errorf("cut short: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}

// whole fills p. A stream may end before a message, but not in it.
func (f *framed) whole(p []byte) error {
	_, err := io.ReadFull(f.src, p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("cut short: %w", err)
	}
	return nil
}

// next reads the metadata of the next message.
func (f *framed) next() error {
	head := make([]byte, 8)
	if _, err := io.ReadFull(f.src, head[:4]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(head) != 0xffffffff {
		if binary.LittleEndian.Uint32(head) == 0 {
			f.head = head[:4] // the end, as it was written once
			return nil
		}
		return fmt.Errorf("%q is not the beginning of a message", head[:4])
	}
	if err := f.whole(head[4:]); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if n > maxMetadata {
		return fmt.Errorf("a message's metadata of %d bytes, more than %d", n, maxMetadata)
	}
	metadata := make([]byte, n)
	if err := f.whole(metadata); err != nil {
		return err
	}
	if n > 0 {
		body, err := checkMessage(metadata)
		if err != nil {
			return err
		}
		f.body = body
	}
	f.head = append(head, metadata...)
	return nil
}

// The slots below are field numbers in Arrow's Message.fbs and Schema.fbs.

// checkMessage checks every length in a message's metadata against the
// metadata's size, and returns the length of the body.
func checkMessage(metadata []byte) (body int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a message's metadata is damaged: %v", p)
		}
	}()
	c := checker{fields: maxFields}
	message := flatbuffers.Table{Bytes: metadata, Pos: flatbuffers.GetUOffsetT(metadata)}
	if body = message.GetInt64Slot(slot(3), 0); body < 0 || body > maxBody {
		return 0, fmt.Errorf("a message of %d bytes, more than %d", body, maxBody)
	}
	c.vector(message, 4, 4)
	header, ok := child(message, 2)
	if !ok {
		return 0, errors.New("a message without a header")
	}
	switch message.GetByteSlot(slot(1), 0) {
	case 1: // schema
		c.vector(header, 2, 4)
		c.vector(header, 3, 8)
		c.children(header, 1, 0)
	case 2: // dictionary batch
		if data, ok := child(header, 1); ok {
			c.batch(data)
		}
	case 3:
		c.batch(header)
	}
	return body, c.err
}

func slot(field int) flatbuffers.VOffsetT { return flatbuffers.VOffsetT(4 + 2*field) }

func child(t flatbuffers.Table, field int) (flatbuffers.Table, bool) {
	o := t.Offset(slot(field))
	if o == 0 {
		return t, false
	}
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(flatbuffers.UOffsetT(o) + t.Pos)}, true
}

type checker struct {
	fields int // that are still allowed
	err    error
}

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("a message's metadata is damaged: "+format, args...)
	}
}

// vector checks that the elements of a vector fit into the metadata, and returns their number.
func (c *checker) vector(t flatbuffers.Table, field, size int) int {
	o := t.Offset(slot(field))
	if o == 0 {
		return 0
	}
	n := t.VectorLen(flatbuffers.UOffsetT(o))
	if n < 0 || n > len(t.Bytes)/size {
		c.fail("%d elements in %d bytes", n, len(t.Bytes))
		return 0
	}
	return n
}

func (c *checker) batch(t flatbuffers.Table) {
	c.vector(t, 1, 16)
	c.vector(t, 2, 16)
	c.vector(t, 4, 8)
	if rows := t.GetInt64Slot(slot(0), 0); rows < 0 || rows > maxRows {
		c.fail("%d rows", rows)
	}
}

// children checks the fields of a schema or of a nested field.
func (c *checker) children(t flatbuffers.Table, field, depth int) {
	n := c.vector(t, field, 4)
	if c.fields -= n; c.fields < 0 || depth > maxDepth {
		c.fail("more than %d fields, or deeper than %d", maxFields, maxDepth)
	}
	if c.err != nil || n == 0 {
		return
	}
	first := t.Vector(flatbuffers.UOffsetT(t.Offset(slot(field))))
	for i := range n {
		f := flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(first + flatbuffers.UOffsetT(4*i))}
		if kind, ok := child(f, 3); ok && f.GetByteSlot(slot(2), 0) == 14 {
			c.vector(kind, 1, 4) // a union's type ids
		}
		c.vector(f, 6, 4)
		c.children(f, 5, depth+1)
	}
}
