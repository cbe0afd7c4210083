package parquet

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"
)

// TestPlanesAreRead: any planes, with runs of any length, are read back.
func TestPlanesAreRead(t *testing.T) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		n := rapid.IntRange(1, 8).Draw(t, "planes")
		var plane []byte
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			length := rapid.SampledFrom([]int{1, 7, 255, 256, 257, 600, 1023, 1024, 5000, 128 << 10, 300_000}).
				Draw(t, "length")
			if part := make([]byte, length); rapid.Bool().Draw(t, "run") {
				plane = append(plane, part...)
			} else {
				spread := 1 << rapid.IntRange(1, 8).Draw(t, "bits")
				for i := range part {
					part[i] = byte(min(r.IntN(spread), r.IntN(spread)))
				}
				plane = append(plane, part...)
			}
		}
		data := bytes.Repeat(plane, n)
		packed := packPlanes([]byte("earlier"), data, n)
		got, err := d.DecodeAll(packed, nil)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes were read as %d: %v", len(data), len(got), err)
		}
		if got, err = (codec{}).Decode(make([]byte, 0, len(data)), packed); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("in exactly the room: %v", err)
		}
		if most := len(data) + 3*(len(data)/maxBlock+2*n+12*n) + 16; len(packed) > most {
			t.Fatalf("%d bytes in a frame of %d, want at most %d", len(data), len(packed), most)
		}
	})
}

// TestRunsAreShort: tokens that do not train take nearly no room.
func TestRunsAreShort(t *testing.T) {
	if n := len(packPlanes(nil, make([]byte, 1<<20), 4)); n > 100 {
		t.Errorf("a megabyte of zeros is packed into %d bytes", n)
	}
}

// parquet-go compresses with codec in tests.
func (codec) String() string                            { return "ZSTD" }
func (codec) CompressionCodec() format.CompressionCodec { return format.Zstd }
