package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// errThrift marks bytes that are no Thrift structure, or one that claims more
// than its bytes can hold.
var errThrift = errors.New("damaged Thrift")

const (
	thriftMemory = 512 << 20 // what decoding one structure may allocate
	elementSize  = 1 << 10   // what an element that is a structure does, about
)

// weigh walks a Thrift compact structure without decoding it. The decoder
// allocates whatever length a list claims, so claims are held against the
// bytes there are, and their sum against thriftMemory, first.
func weigh(data []byte) error {
	w := &weighing{data: data, left: thriftMemory / elementSize}
	if err := w.structure(0); err != nil {
		return err
	}
	if len(w.data) > 0 {
		return fmt.Errorf("%w: %d bytes too many", errThrift, len(w.data))
	}
	return nil
}

type weighing struct {
	data []byte
	left int // structures in lists that there may still be
}

func (w *weighing) byte() (byte, error) {
	if len(w.data) == 0 {
		return 0, fmt.Errorf("%w: it ends early", errThrift)
	}
	b := w.data[0]
	w.data = w.data[1:]
	return b, nil
}

func (w *weighing) varint() (uint64, error) {
	v, n := binary.Uvarint(w.data)
	if n <= 0 {
		return 0, fmt.Errorf("%w: bad number", errThrift)
	}
	w.data = w.data[n:]
	return v, nil
}

func (w *weighing) skip(n uint64) error {
	if n > uint64(len(w.data)) {
		return fmt.Errorf("%w: %d bytes claimed where %d are left", errThrift, n, len(w.data))
	}
	w.data = w.data[n:]
	return nil
}

func (w *weighing) structure(depth int) error {
	if depth > 32 {
		return fmt.Errorf("%w: nested too deeply", errThrift)
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
			continue // the value of a field is in its type
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
		return w.list(depth)
	case thrift.STRUCT:
		return w.structure(depth + 1)
	}
	return fmt.Errorf("%w: type %d", errThrift, t)
}

func (w *weighing) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	size, elem := uint64(head>>4), thrift.Type(head&0xf)
	if size == 15 {
		if size, err = w.varint(); err != nil {
			return err
		}
	}
	if size > uint64(len(w.data)) {
		return fmt.Errorf("%w: a list claims %d elements in %d bytes", errThrift, size, len(w.data))
	}
	if elem == thrift.STRUCT {
		if w.left -= int(size); w.left < 0 {
			return fmt.Errorf("%w: more structures than a footer has", errThrift)
		}
	}
	for range size {
		if err := w.value(elem, depth); err != nil {
			return err
		}
	}
	return nil
}
