package parquet

import (
	"bufio"
	"bytes"

	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
)

// laidOut is a file split into its pages, decompressed and without checksums,
// in the order of their chunks.
type laidOut struct {
	meta  format.FileMetaData
	pages [][]plainPage // (row group, column)
}

type plainPage struct {
	header format.PageHeader
	body   []byte // levels, and then values
}

// takenApart splits a file of this package's Writer.
func takenApart(t testing.TB, data []byte) *laidOut {
	t.Helper()
	f := opened(t, data)
	out := &laidOut{meta: *wholeFooter(t, f)}
	for g := range f.Meta.RowGroups {
		group := &f.Meta.RowGroups[g]
		for c := range group.Columns {
			m := &group.Columns[c].MetaData
			start, end := layout.Span(m)
			var pages []plainPage
			for start < end {
				var h format.PageHeader
				n, err := page.DecodeHeader(new(thrift.CompactProtocol), data[start:end], &h)
				if err != nil {
					t.Fatal(err)
				}
				start += int64(n)
				body := data[start : start+int64(h.CompressedPageSize)]
				start += int64(len(body))
				levels := int(h.DataPageHeaderV2.V.RepetitionLevelsByteLength +
					h.DataPageHeaderV2.V.DefinitionLevelsByteLength)
				values := body[levels:]
				if m.Codec == format.Zstd {
					if values, err = (page.Codec{}).Decode(make([]byte, 0, int(h.UncompressedPageSize)-levels), body[levels:]); err != nil {
						t.Fatal(err)
					}
				}
				pages = append(pages, plainPage{h, append(bytes.Clone(body[:levels]), values...)})
			}
			out.pages = append(out.pages, pages)
		}
	}
	return out
}

// put joins the pages again: uncompressed, without checksums and page indexes,
// so that any byte of them may change.
func (l *laidOut) put(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	f := &fileWriter{out: bufio.NewWriter(&out), meta: l.meta}
	if err := f.writeMagic(); err != nil {
		t.Fatal(err)
	}
	next := 0
	for g := range f.meta.RowGroups {
		for c := range f.meta.RowGroups[g].Columns {
			chunk := &f.meta.RowGroups[g].Columns[c]
			m := &chunk.MetaData
			chunk.OffsetIndexLength, chunk.ColumnIndexLength, chunk.OffsetIndexOffset, chunk.ColumnIndexOffset = 0, 0, 0, 0
			m.Codec, m.DataPageOffset, m.DictionaryPageOffset, m.Statistics = format.Uncompressed, f.at, 0, format.Statistics{}
			for _, p := range l.pages[next] {
				p.header.CRC, p.header.CompressedPageSize, p.header.UncompressedPageSize = 0, int32(len(p.body)), int32(len(p.body))
				if p.header.Type == format.DataPageV2 {
					p.header.DataPageHeaderV2.V.IsCompressed = thrift.New(false)
				}
				if err := f.writeIndex(&p.header, new(int64), new(int32)); err != nil {
					t.Fatal(err)
				}
				if err := f.write(p.body); err != nil {
					t.Fatal(err)
				}
			}
			m.TotalCompressedSize = f.at - m.DataPageOffset
			next++
		}
	}
	if err := f.writeFooter(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
