package parquet

import (
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"
)

// fileMeta is what an open file keeps of its footer. Decoded as a whole, the
// footer of a part of light rows has seven times as many bytes, and several parts
// are open at once. Names are those of package format.
type fileMeta struct {
	Schema           []format.SchemaElement
	NumRows          int64
	RowGroups        []rowGroupMeta
	KeyValueMetadata []format.KeyValue
	ColumnOrders     []format.ColumnOrder
}

type rowGroupMeta struct {
	NumRows, TotalByteSize int64
	Columns                []chunkMeta
}

type chunkMeta struct {
	MetaData          columnMeta
	OffsetIndexOffset int64
	ColumnIndexOffset int64
	OffsetIndexLength int32
	ColumnIndexLength int32
}

type columnMeta struct {
	Type                  format.Type
	Codec                 format.CompressionCodec
	NumValues             int64
	TotalUncompressedSize int64
	TotalCompressedSize   int64
	DataPageOffset        int64
	DictionaryPageOffset  int64
	EncodingStats         []format.PageEncodingStats // without counts; shared by chunks
}

// keep returns what is kept of a footer. It shares no memory with it.
func keep(meta *format.FileMetaData) *fileMeta {
	m := &fileMeta{Schema: slices.Clone(meta.Schema), NumRows: meta.NumRows, ColumnOrders: meta.ColumnOrders}
	for i := range m.Schema {
		m.Schema[i].Name = strings.Clone(m.Schema[i].Name)
	}
	for _, kv := range meta.KeyValueMetadata {
		m.KeyValueMetadata = append(m.KeyValueMetadata,
			format.KeyValue{Key: strings.Clone(kv.Key), Value: strings.Clone(kv.Value)})
	}
	m.RowGroups = make([]rowGroupMeta, len(meta.RowGroups))
	var before []chunkMeta // of the row group before
	for g := range meta.RowGroups {
		from, to := &meta.RowGroups[g], &m.RowGroups[g]
		to.NumRows, to.TotalByteSize, to.Columns = from.NumRows, from.TotalByteSize, make([]chunkMeta, len(from.Columns))
		for c := range from.Columns {
			to.Columns[c] = keepChunk(&from.Columns[c])
			stats := &to.Columns[c].MetaData.EncodingStats
			if c < len(before) && slices.Equal(*stats, before[c].MetaData.EncodingStats) {
				*stats = before[c].MetaData.EncodingStats
			}
		}
		before = to.Columns
	}
	return m
}

func keepChunk(x *format.ColumnChunk) chunkMeta {
	m := &x.MetaData
	k := columnMeta{Type: m.Type, Codec: m.Codec, NumValues: m.NumValues, TotalUncompressedSize: m.TotalUncompressedSize,
		TotalCompressedSize: m.TotalCompressedSize, DataPageOffset: m.DataPageOffset,
		DictionaryPageOffset: m.DictionaryPageOffset}
	k.EncodingStats = m.EncodingStats
	for i := range k.EncodingStats {
		k.EncodingStats[i].Count = 0
	}
	return chunkMeta{k, x.OffsetIndexOffset, x.ColumnIndexOffset, x.OffsetIndexLength, x.ColumnIndexLength}
}

// span returns the position of a chunk in its file.
func span(m *columnMeta) (start, end int64) {
	start = firstPage(m.DataPageOffset, m.DictionaryPageOffset)
	return start, start + m.TotalCompressedSize
}

// firstPage returns where a chunk begins, given where its data and its dictionary
// page begin, 0 for none.
func firstPage(data, dictionary int64) int64 {
	if dictionary > 0 {
		return dictionary
	}
	return data
}
