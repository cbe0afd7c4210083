package page

import (
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
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
