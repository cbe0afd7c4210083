package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime/metrics"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
	"github.com/rollmill/rollmill/formats/parquet/reader"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/storage/fault"
)

// sampled returns COUNT, or a default sample size.
func sampled(sample int) int {
	if n, err := strconv.Atoi(os.Getenv("COUNT")); err == nil && n > 0 {
		return n
	}
	return sample
}

// smallBudget is the budget for reading files of a few kilobytes in these
// tests.
const smallBudget = 8 << 20

func heapAllocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// readSome reads a file that may be hostile. It returns rows or an error that
// names the file, and each call allocates only what its budget allows.
func readSome[T any](t testing.TB, data []byte) (rows []T, err error) {
	t.Helper()
	f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "broken.parquet")
	if err == nil {
		f.Budget = smallBudget
		var r *reader.Reader[T]
		if r, err = reader.NewReader[T](f, 0, f.Rows()); err == nil {
			for err == nil && len(rows) < 1000 {
				buf := make([]T, 64)
				before, n := heapAllocated(), 0
				n, err = r.Read(buf)
				if got := heapAllocated() - before; got > 4*smallBudget {
					t.Fatalf("one call of Read allocated %d bytes; its budget is %d: %v", got, smallBudget, err)
				}
				rows = append(rows, buf[:n]...)
			}
		}
	}
	if err == io.EOF {
		err = nil
	}
	if in := (*fault.Error)(nil); err != nil && !errors.As(err, &in) {
		t.Fatalf("an error without kind or place: %v", err)
	}
	return rows, err
}

// rewritten writes rows that could be read, reads them again and compares.
func rewritten[T any](t testing.TB, rows []T) {
	t.Helper()
	if len(rows) == 0 || len(rows) == 1000 {
		return
	}
	data := fileOf(t, [][]T{rows})
	back := read[T](t, data, 0, int64(len(rows)))
	again := fileOf(t, [][]T{back})
	if !bytes.Equal(data, again) {
		t.Fatal("rows that were read are not those that were written of them")
	}
}

// seedFiles are small files whose pages have neither checksums nor
// compression.
func seedFiles(t testing.TB) (wide, scores, groups, lists []byte) {
	var trajectories [][]formats.Trajectory
	for rows := range randomtest.Trajectories(5, randomtest.Options{Groups: 2, Scored: true}) {
		for i := range rows {
			rows[i].Messages = rows[i].Messages[:min(2, len(rows[i].Messages))]
			for j := range rows[i].Messages {
				m := &rows[i].Messages[j]
				m.Content = m.Content[:min(8, len(m.Content))]
				m.TokenIDs, m.Logprobs = m.TokenIDs[:min(3, len(m.TokenIDs))], m.Logprobs[:min(3, len(m.Logprobs))]
			}
		}
		trajectories = append(trajectories, rows[:min(2, len(rows))])
	}
	var thin [][]formats.Score
	for rows := range randomtest.Scores(5, randomtest.Options{Groups: 2}) {
		thin = append(thin, rows)
	}
	stats := []formats.GroupStats{{GroupID: "g"}, {GroupID: "h"}}
	plain := func(data []byte) []byte { return takenApart(t, data).put(t) }
	return plain(fileOf(t, trajectories)), plain(fileOf(t, thin)), plain(fileOf(t, [][]formats.GroupStats{stats})),
		plain(fileOf(t, [][]listed{listedRows()}))
}

// Whatever bytes a file has whose pages no checksum protects (levels, indexes
// of dictionaries, encodings, lengths), reading it gives an error that names
// it, or rows that can be written and read again.
func FuzzPages(f *testing.F) {
	wide, scores, groups, lists := seedFiles(f)
	f.Add(byte(0), lists)
	f.Add(byte(1), scores)
	f.Add(byte(2), groups)
	f.Add(byte(3), wide)
	f.Add(byte(4), claiming(f, 1<<20))
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		switch kind % 5 {
		case 0:
			readWritten[listed](t, data)
		case 1:
			readWritten[formats.Score](t, data)
		case 2:
			readWritten[formats.GroupStats](t, data)
		case 3:
			readWritten[formats.Trajectory](t, data)
		case 4:
			readWritten[numbers](t, data)
		}
	})
}

func readWritten[T any](t testing.TB, data []byte) {
	t.Helper()
	if rows, err := readSome[T](t, data); err == nil {
		rewritten(t, rows)
	}
}

// Damage that a checksum would detect and a forger would hide: levels, indexes,
// values, headers.
func TestMutatedPages(t *testing.T) {
	wide, scores, groups, lists := seedFiles(t)
	r := rand.New(rand.NewPCG(8, 9))
	n := sampled(400)
	for range n / 4 {
		mutated[formats.Trajectory](t, r, wide)
		mutated[formats.Score](t, r, scores)
		mutated[formats.GroupStats](t, r, groups)
		mutated[listed](t, r, lists)
	}
	t.Logf("%d files with mutated pages", n)
}

func mutated[T any](t testing.TB, r *rand.Rand, file []byte) {
	t.Helper()
	l := takenApart(t, file)
	for range 1 + r.IntN(3) {
		pages := l.pages[r.IntN(len(l.pages))]
		if len(pages) == 0 {
			continue
		}
		p := &pages[r.IntN(len(pages))]
		h := &p.header.DataPageHeaderV2.V
		// an earlier change may have made it wrong
		levels := min(max(0, int(h.RepetitionLevelsByteLength+h.DefinitionLevelsByteLength)), len(p.body))
		switch r.IntN(6) {
		case 0, 1: // levels
			if levels > 0 {
				p.body[r.IntN(levels)] ^= 1 << r.IntN(8)
			}
		case 2, 3: // values, indexes
			if len(p.body) > levels {
				p.body[levels+r.IntN(len(p.body)-levels)] ^= 1 << r.IntN(8)
			}
		case 4: // encoding
			h.Encoding = format.Encoding(r.IntN(10))
		case 5: // counts and lengths
			field := []*int32{&h.NumValues, &h.NumRows, &h.NumNulls, &h.RepetitionLevelsByteLength,
				&h.DefinitionLevelsByteLength,
				&p.header.DictionaryPageHeader.V.NumValues}[r.IntN(6)]
			*field = []int32{0, 1, *field - 1, *field + 1, 1 << 26, -1}[r.IntN(6)]
		}
	}
	readWritten[T](t, l.put(t))
}

// A footer that passes the checks is decoded within the memory that its bytes
// justify.
func FuzzFooter(f *testing.F) {
	_, scores, groups, lists := seedFiles(f)
	for _, file := range [][]byte{scores, groups, lists} {
		n := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
		f.Add(file[len(file)-8-n : len(file)-8])
	}
	f.Add([]byte{0x19, 0x19, 0x19, 0x19, 0})
	f.Add([]byte{0x15, 4, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0})
	f.Fuzz(func(t *testing.T, footer []byte) {
		file := append([]byte(layout.Magic), footer...)
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), layout.Magic...)
		before := heapAllocated()
		_, err := readSome[formats.Score](t, file)
		if got := heapAllocated() - before; got > 4*smallBudget+2<<10*uint64(len(footer)) {
			t.Fatalf("a footer of %d bytes: %d allocated", len(footer), got)
		}
		var meta format.FileMetaData
		if err == nil && thrift.Unmarshal(new(thrift.CompactProtocol), footer, &meta) != nil {
			t.Fatal("a footer that does not decode was accepted")
		}
	})
}

// A page header ends where measure says, whatever follows it.
func FuzzPageHeader(f *testing.F) {
	for _, h := range []format.PageHeader{v2(3, format.Plain, 10, 20),
		{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 4})}} {
		data, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(bytes.Repeat([]byte{0x1c}, 100))
	f.Fuzz(func(t *testing.T, data []byte) {
		var one, two format.PageHeader
		n, err := page.DecodeHeader(new(thrift.CompactProtocol), data, &one)
		if err != nil {
			return
		}
		m, err := page.DecodeHeader(new(thrift.CompactProtocol), append(bytes.Clone(data[:n]), 0x15, 2, 0), &two)
		if n > len(data) || m != n || err != nil || !reflect.DeepEqual(one, two) {
			t.Fatalf("%d bytes, then %d: %v", n, m, err)
		}
		if n > 0 {
			if _, err := layout.Measure(data[:n-1]); err == nil {
				t.Fatalf("%d of %d bytes are a header too", n-1, n)
			}
		}
	})
}
