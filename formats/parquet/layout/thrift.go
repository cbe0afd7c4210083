package layout

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// errThrift marks bytes that are not a Thrift structure, or that claim more than they can hold.
var errThrift = errors.New("damaged Thrift")

const (
	thriftMemory = 512 << 20 // that decoding one structure may allocate
	thriftDepth  = 32        // of nested structures and lists
	elementSize  = 1 << 10   // the approximate allocation for an element that is a structure
	scalarSize   = 32        // the same for any other element
)

// weigh walks a Thrift compact structure without decoding it. The decoder
// allocates whatever length a list claims and recurses into unknown fields, so
// weigh first compares lengths with the bytes there are, their sum with
// thriftMemory and the depth with thriftDepth.
func weigh(data []byte) error {
	n, err := Measure(data)
	if err == nil && n < len(data) {
		err = fmt.Errorf("%w: %d bytes too many", errThrift, len(data)-n)
	}
	return err
}

// Measure is weigh for a structure that is followed by other bytes: it returns
// the structure's length. Its error is errShort when more bytes may help.
func Measure(data []byte) (int, error) {
	w := &weighing{data: data, left: thriftMemory}
	err := w.structure(0)
	return len(data) - len(w.data), err
}

// ErrShort is the error about a structure that goes on after the bytes.
var ErrShort = fmt.Errorf("%w: it ends early", errThrift)

// schemaLen returns the length that a footer claims for its schema, which is the
// second field, after the version; 0 if it is not.
func schemaLen(footer []byte) int {
	w := &weighing{data: footer}
	if head, err := w.byte(); err != nil || thrift.Type(head) != 1<<4|thrift.I32 || w.value(thrift.I32, 0) != nil {
		return 0
	}
	if head, err := w.byte(); err != nil || thrift.Type(head) != 1<<4|thrift.LIST {
		return 0
	}
	n, _, err := w.listHead()
	if err != nil {
		return 0
	}
	return int(n)
}

type weighing struct {
	data []byte
	left int64 // bytes that list elements may still allocate
}

func (w *weighing) byte() (byte, error) {
	if len(w.data) == 0 {
		return 0, ErrShort
	}
	b := w.data[0]
	w.data = w.data[1:]
	return b, nil
}

func (w *weighing) varint() (uint64, error) {
	v, n := binary.Uvarint(w.data)
	if n == 0 {
		return 0, ErrShort
	}
	if n < 0 {
		return 0, fmt.Errorf("%w: bad number", errThrift)
	}
	w.data = w.data[n:]
	return v, nil
}

func (w *weighing) skip(n uint64) error {
	if n > uint64(len(w.data)) {
		return fmt.Errorf("%w: %d bytes claimed where %d are left", ErrShort, n, len(w.data))
	}
	w.data = w.data[n:]
	return nil
}

func (w *weighing) structure(depth int) error {
	if depth > thriftDepth {
		return fmt.Errorf("%w: nested deeper than %d", errThrift, thriftDepth)
	}
	for {
		head, err := w.byte()
		if err != nil || thrift.Type(head) == thrift.STOP {
			return err
		}
		if head>>4 == 0 {
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if t := thrift.Type(head & 0xf); t == thrift.TRUE || t == thrift.BOOL {
			continue // the value of a boolean field is in its type
		} else if err := w.value(t, depth); err != nil {
			return err
		}
	}
}

func (w *weighing) value(t thrift.Type, depth int) error {
	switch t {
	case thrift.TRUE, thrift.BOOL, thrift.I8:
		return w.skip(1)
	case thrift.I16, thrift.I32, thrift.I64:
		_, err := w.varint()
		return err
	case thrift.DOUBLE:
		return w.skip(8)
	case thrift.BINARY:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thrift.LIST, thrift.SET:
		return w.list(depth + 1)
	case thrift.STRUCT:
		return w.structure(depth + 1)
	}
	return fmt.Errorf("%w: type %d", errThrift, t)
}

func (w *weighing) list(depth int) error {
	if depth > thriftDepth {
		return fmt.Errorf("%w: nested deeper than %d", errThrift, thriftDepth)
	}
	size, elem, err := w.listHead()
	if err != nil {
		return err
	}
	each := int64(scalarSize)
	if elem == thrift.STRUCT {
		each = elementSize
	}
	if w.left -= each * int64(size); w.left < 0 {
		return fmt.Errorf("%w: its lists need more than %d MiB", errThrift, thriftMemory>>20)
	}
	for range size {
		if err := w.value(elem, depth); err != nil {
			return err
		}
	}
	return nil
}

// listHead reads the length of a list, and the type of its elements.
func (w *weighing) listHead() (size uint64, elem thrift.Type, err error) {
	head, err := w.byte()
	if err != nil {
		return 0, 0, err
	}
	size, elem = uint64(head>>4), thrift.Type(head&0xf)
	if size == 15 {
		if size, err = w.varint(); err != nil {
			return 0, 0, err
		}
	}
	if size > uint64(len(w.data)) {
		return 0, 0, fmt.Errorf("%w: a list claims %d elements in %d bytes", ErrShort, size, len(w.data))
	}
	return size, elem, nil
}
