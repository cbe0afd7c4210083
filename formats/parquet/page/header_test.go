package page

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

func ownHead(rows int32) *format.PageHeader {
	return &format.PageHeader{Type: format.DataPageV2, UncompressedPageSize: 70000, CompressedPageSize: 20000, CRC: -5,
		DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
			NumValues: 3 * rows, NumNulls: rows, NumRows: rows, Encoding: format.DeltaLengthByteArray,
			RepetitionLevelsByteLength: 300,
			DefinitionLevelsByteLength: 40,
			IsCompressed:               thrift.New(true), Statistics: format.Statistics{NullCount: int64(rows)},
		})}
}

// A header that ownHeader decodes is decoded the same by the library, whatever
// happened to its bytes.
func TestOwnHeader(t *testing.T) {
	data, err := thrift.Marshal(new(thrift.CompactProtocol), ownHead(64))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	decoded := 0
	for n := range 200_000 {
		b := slices.Clone(data)
		for range min(n, 1+n%3) {
			b[rng.IntN(len(b))] = byte(rng.Uint32())
		}
		var got, want format.PageHeader
		length := ownHeader(b, &got)
		if length == 0 {
			continue
		}
		decoded++
		err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(b[:length])).Decode(&want)
		if size, _ := layout.Measure(b); err != nil || size != length || !reflect.DeepEqual(got, want) {
			t.Fatalf("% x: %d of %d bytes, %+v, want %+v: %v", b, length, size, got, want, err)
		}
	}
	if decoded < 10_000 {
		t.Errorf("%d of the headers were decoded", decoded)
	}
}

func BenchmarkPageHeader(b *testing.B) {
	data, err := thrift.Marshal(new(thrift.CompactProtocol), ownHead(64))
	if err != nil {
		b.Fatal(err)
	}
	var protocol thrift.CompactProtocol
	for b.Loop() {
		var h format.PageHeader
		if n, err := DecodeHeader(&protocol, data, &h); err != nil || n != len(data) {
			b.Fatal(n, err)
		}
	}
}
