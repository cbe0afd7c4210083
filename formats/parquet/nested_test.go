package parquet

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/storage/fault"
)

// nested returns a file whose schema has this many nested groups.
func nested(depth int) []byte {
	footer := []byte{0x15, 4, 0x19, 0xfc} // version; the schema, a list of structures
	footer = binary.AppendUvarint(footer, uint64(depth+1))
	for range depth {
		footer = append(footer, 0x48, 1, 'g', 0x15, 2, 0) // name, one child
	}
	footer = append(footer, 0x15, 2, 0x38, 1, 'n', 0) // int32, name
	footer = append(footer, 0x16, 0, 0x19, 0x0c, 0)   // no rows, no row groups
	file := append([]byte("PAR1"), footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
}

// A reader that recurses into the groups of a schema would overflow its stack,
// which cannot be recovered.
func TestDeeplyNestedGroupsAreRefused(t *testing.T) {
	for _, depth := range []int{40, 90_000, 400_000, 1_500_000} {
		_, err := rowsOf(t, nested(depth))
		why := "damaged footer: its schema nests deeper than 32"
		if depth > 100_000 {
			why = "at most 100000 are read"
		}
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), why) {
			t.Errorf("%d groups: %v", depth, err)
		}
	}
	if _, err := rowsOf(t, nested(20)); err != nil {
		t.Errorf("20 groups: %v", err)
	}
}
