package page

import (
	"encoding/binary"
	"testing"
)

// Other writers pad their last run: DuckDB to 256 values.
func TestRunsMayBePadded(t *testing.T) {
	packed := func(values, width int) []byte {
		return append(binary.AppendUvarint(nil, uint64(values/8)<<1|1), make([]byte, values/8*width)...)
	}
	repeated := func(values int) []byte { return append(binary.AppendUvarint(nil, uint64(values)<<1), 1) }
	for _, c := range []struct {
		data []byte
		n    int
		want bool
	}{
		{packed(256, 1), 1, true}, {packed(256, 1), 256, true}, {packed(264, 1), 8, false}, {packed(256, 1)[:20], 32, false},
		{repeated(32), 32, true}, {repeated(256), 32, false}, {repeated(32), 33, false},
		{append(repeated(10), packed(256, 1)...), 20, true}, {append(packed(256, 1), repeated(10)...), 260, true},
	} {
		data, err := checkRuns(append(c.data, 99), 1, c.n)
		if (err == nil) != c.want || err == nil && len(data) != len(c.data) {
			t.Errorf("%d values in %d bytes of runs: %v, %d bytes", c.n, len(c.data), err, len(data))
		}
	}
}
