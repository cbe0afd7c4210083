package parquet

import (
	"bytes"
	"io"
	"sync"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"golang.org/x/sys/unix"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// wide is 2048 rows of about 28 kB, made once.
var wide = sync.OnceValues(func() (groups [][]formats.Trajectory, logical int64) {
	leaves := layout.Of[formats.Trajectory]().Leaves
	for rows := range randomtest.Trajectories(1, randomtest.Options{Groups: 256, Scored: true}) {
		groups = append(groups, rows)
		for _, l := range leaves {
			logical += l.BytesOf(layout.RowSliceOf(rows))
		}
	}
	return groups, logical
})

var thin = sync.OnceValue(func() (groups [][]formats.Score) {
	for rows := range randomtest.Scores(1, randomtest.Options{Groups: 32768}) {
		groups = append(groups, rows)
	}
	return groups
})

func BenchmarkWriteWide(b *testing.B) {
	groups, logical := wide()
	b.SetBytes(logical)
	defer cpu(b, logical)()
	b.ReportAllocs()
	for b.Loop() {
		w := NewWriter[formats.Trajectory](io.Discard)
		for _, rows := range groups {
			if err := w.Write(rows); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(w.Size())/float64(logical), "file/logical")
	}
}

func BenchmarkReadWide(b *testing.B) {
	groups, logical := wide()
	data := fileOf(b, groups)
	b.SetBytes(logical)
	defer cpu(b, logical)()
	b.ReportAllocs()
	for b.Loop() {
		scan[formats.Trajectory](b, data, 64)
	}
}

// The same with parquet-go's own row reader, for comparison.
func BenchmarkReadWideGenericReader(b *testing.B) {
	groups, logical := wide()
	data := fileOf(b, groups)
	b.SetBytes(logical)
	defer cpu(b, logical)()
	buf := make([]formats.Trajectory, 64)
	for b.Loop() {
		r := pq.NewGenericReader[formats.Trajectory](bytes.NewReader(data))
		for {
			if _, err := r.Read(buf); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		r.Close()
	}
}

type idReward struct {
	ExampleID string   `parquet:"example_id,dict"`
	Reward    *float64 `parquet:"reward,optional"`
}

func BenchmarkReadTwoColumnsOfWide(b *testing.B) {
	groups, _ := wide()
	data := fileOf(b, groups)
	rows := 0
	defer mrows(b, &rows)()
	for b.Loop() {
		rows += scan[idReward](b, data, 1024)
	}
}

func BenchmarkReadTwoColumnsOfThin(b *testing.B) {
	data := fileOf(b, thin())
	rows := 0
	defer mrows(b, &rows)()
	for b.Loop() {
		rows += scan[idReward](b, data, 1024)
	}
}

func BenchmarkReadThin(b *testing.B) {
	data := fileOf(b, thin())
	rows := 0
	defer mrows(b, &rows)()
	for b.Loop() {
		rows += scan[formats.Score](b, data, 1024)
	}
}

func BenchmarkWriteThin(b *testing.B) {
	groups := thin()
	rows := 0
	defer mrows(b, &rows)()
	for b.Loop() {
		w := NewWriter[formats.Score](io.Discard)
		for _, g := range groups {
			if err := w.Write(g); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		rows += int(w.Rows())
	}
}

// mrows reports millions of rows a second of processor time.
func mrows(b *testing.B, rows *int) func() {
	from := busy(b)
	return func() { b.ReportMetric(float64(*rows)/(busy(b)-from)/1e6, "Mrows/cpu-s") }
}

func busy(b *testing.B) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// cpu reports logical megabytes for each second of processor time, which is the
// reliable number on a shared machine.
func cpu(b *testing.B, logical int64) func() {
	from := busy(b)
	return func() { b.ReportMetric(float64(logical)*float64(b.N)/(busy(b)-from)/1e6, "MB/cpu-s") }
}

func scan[T any](b *testing.B, data []byte, batch int) int {
	f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "bench")
	if err != nil {
		b.Fatal(err)
	}
	r, err := reader.NewReader[T](f, 0, f.Rows())
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]T, batch)
	total := 0
	for {
		n, err := r.Read(buf)
		total += n
		if err == io.EOF {
			return total
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// A segment of a journal: a few rows in a file of their own.
func BenchmarkSmallFile(b *testing.B) {
	groups := varied(1)
	b.ReportAllocs()
	for b.Loop() {
		data := fileOf(b, groups)
		scan[formats.Trajectory](b, data, 4)
	}
}

// The same rows and codec with parquet-go's own row writer, for comparison.
func BenchmarkWriteWideGenericWriter(b *testing.B) {
	groups, logical := wide()
	b.SetBytes(logical)
	defer cpu(b, logical)()
	for b.Loop() {
		w := pq.NewGenericWriter[formats.Trajectory](io.Discard, pq.Compression(zstdCodec{}))
		for _, rows := range groups {
			if _, err := w.Write(rows); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
