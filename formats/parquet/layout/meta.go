package layout

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
	Columns                []ChunkMeta
}

// ChunkMeta is what is kept of a column chunk.
type ChunkMeta struct {
	MetaData          ColumnMeta
	OffsetIndexOffset int64
	ColumnIndexOffset int64
	OffsetIndexLength int32
	ColumnIndexLength int32
}

// ColumnMeta is what is kept of the metadata of a column chunk.
type ColumnMeta struct {
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
	var before []ChunkMeta // of the row group before
	for g := range meta.RowGroups {
		from, to := &meta.RowGroups[g], &m.RowGroups[g]
		to.NumRows, to.TotalByteSize, to.Columns = from.NumRows, from.TotalByteSize, make([]ChunkMeta, len(from.Columns))
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

func keepChunk(x *format.ColumnChunk) ChunkMeta {
	m := &x.MetaData
	k := ColumnMeta{Type: m.Type, Codec: m.Codec, NumValues: m.NumValues, TotalUncompressedSize: m.TotalUncompressedSize,
		TotalCompressedSize: m.TotalCompressedSize, DataPageOffset: m.DataPageOffset,
		DictionaryPageOffset: m.DictionaryPageOffset}
	k.EncodingStats = m.EncodingStats
	for i := range k.EncodingStats {
		k.EncodingStats[i].Count = 0
	}
	return ChunkMeta{k, x.OffsetIndexOffset, x.ColumnIndexOffset, x.OffsetIndexLength, x.ColumnIndexLength}
}

// Span returns the position of a chunk in its file.
func Span(m *ColumnMeta) (start, end int64) {
	start = FirstPage(m.DataPageOffset, m.DictionaryPageOffset)
	return start, start + m.TotalCompressedSize
}

// FirstPage returns where a chunk begins, given where its data and its dictionary
// page begin, 0 for none.
func FirstPage(data, dictionary int64) int64 {
	if dictionary > 0 {
		return dictionary
	}
	return data
}
