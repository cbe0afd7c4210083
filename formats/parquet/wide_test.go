package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/storage/fault"
)

// wideFile returns a file with n columns in the group of columns of this name, "" for none,
// and one row, which has the same page in each column.
func wideFile(t testing.TB, n int, parent string, change func(*format.FileMetaData)) []byte {
	t.Helper()
	body := binary.LittleEndian.AppendUint64(nil, 7)
	page := v2(1, format.Plain, len(body), len(body))
	page.DataPageHeaderV2.V.IsCompressed = thrift.New(false)
	return forge(page, body, func(m *format.FileMetaData) {
		chunk, column := m.RowGroups[0].Columns[0], m.Schema[1]
		chunk.MetaData.NumValues = 1
		m.Schema, m.RowGroups[0].Columns = m.Schema[:1:1], nil
		path := []string{}
		if parent != "" {
			m.Schema[0].NumChildren = thrift.New(int32(1))
			m.Schema = append(m.Schema, format.SchemaElement{Name: parent, RepetitionType: thrift.New(format.Required)})
			path = []string{parent}
		}
		m.Schema[len(m.Schema)-1].NumChildren = thrift.New(int32(n))
		for i := range n {
			column.Name = "column_" + strconv.Itoa(i)
			chunk.MetaData.PathInSchema = append(path[:len(path):len(path)], column.Name)
			m.Schema = append(m.Schema, column)
			m.RowGroups[0].Columns = append(m.RowGroups[0].Columns, chunk)
		}
		if change != nil {
			change(m)
		}
	})
}

// As many columns as are read take time in proportion to their number: a search
// that compares each with each would make this test take a minute.
func TestManyColumns(t *testing.T) {
	data := wideFile(t, 100_000, "", nil)
	f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "wide.parquet")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Names()); n != 100_000 {
		t.Errorf("%d names", n)
	}
	rows, err := rowsOf(t, data)
	if err != nil || len(rows) != 1 || !strings.HasSuffix(rows[0], `,"column_99999":7}`) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestTooManyColumnsAreRefused(t *testing.T) {
	for what, data := range map[string][]byte{
		"100001":  wideFile(t, 100_000+1, "", nil),
		"1000000": schemaOnly(t, 1_000_000),
	} {
		f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "wide.parquet")
		want := `"wide.parquet": it has ` + what + " columns, with groups of columns; at most 100000 are read"
		if f != nil || !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s columns: %v", what, err)
		}
		_, err = rowsOf(t, data)
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "at most 100000") {
			t.Errorf("%s columns as JSON: %v", what, err)
		}
	}
}

// schemaOnly returns a file with n columns and no rows.
func schemaOnly(t testing.TB, n int) []byte {
	t.Helper()
	return forge(format.PageHeader{}, nil, func(m *format.FileMetaData) {
		column := m.Schema[1]
		m.Schema[0].NumChildren = thrift.New(int32(n))
		for range n - 1 {
			m.Schema = append(m.Schema, column)
		}
		m.NumRows, m.RowGroups = 0, nil
	})
}

// Each column of a group with a long name has a copy of the name in its path.
func TestLongPathsAreRefused(t *testing.T) {
	noRows := func(m *format.FileMetaData) { m.NumRows, m.RowGroups = 0, nil }
	data := wideFile(t, 1000, strings.Repeat("x", 17<<10), noRows)
	before := allocated()
	_, err := layout.Open(bytes.NewReader(data), int64(len(data)), "wide.parquet")
	took := allocated() - before
	if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "more than 16 MiB") || took > 4<<20 {
		t.Errorf("%d bytes allocated: %v", took, err)
	}
}
