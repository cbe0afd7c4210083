package layout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A list of empty structures needs memory for each of them, and a byte in the footer.
func TestMillionsOfEmptyStructuresAreRefused(t *testing.T) {
	empty := append([]byte{0x15, 4, 0x19, 0xfc}, binary.AppendUvarint(nil, 2<<20)...)
	empty = append(empty, make([]byte, 2<<20)...)
	if err := weigh(append(empty, 0)); !errors.Is(err, errThrift) {
		t.Errorf("two million empty structures: %v", err)
	}
}

// What was decoded of a footer that passes the checks is equal after writing and
// reading it.
func FuzzFooterTwice(f *testing.F) {
	f.Add([]byte{0x15, 4, 0x19, 0x1c, 0x48, 1, 'r', 0x15, 2, 0, 0x16, 0, 0x19, 0x0c, 0})
	f.Add([]byte{0x19, 0x19, 0x19, 0x19, 0})
	f.Add([]byte{0x15, 4, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0})
	f.Fuzz(func(t *testing.T, footer []byte) {
		var meta, again format.FileMetaData
		if weigh(footer) != nil || thrift.Unmarshal(new(thrift.CompactProtocol), footer, &meta) != nil {
			return
		}
		once, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
		if err != nil {
			return // values that the library does not write, such as a union of nothing
		}
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), once, &again); err != nil {
			t.Fatal(err)
		}
		twice, err := thrift.Marshal(new(thrift.CompactProtocol), &again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("written twice it differs: %v", err)
		}
	})
}
