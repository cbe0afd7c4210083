package trainers_test

import (
	"io"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/sequences"
)

// rounds is how often the rows are written to a file, to fill two row groups.
const rounds = 8

// BenchmarkFile writes about 160 MB of sequences as a Parquet file. MB are logical:
// 4 bytes for each id and log probability, 1 for each element of the mask, the
// bytes of strings, and 4 or 8 for any other number.
func BenchmarkFile(b *testing.B) {
	groups := slices.Collect(randomtest.Trajectories(5, randomtest.Options{Groups: 128, Scored: true}))
	logical := int64(0)
	for _, rows := range groups {
		for i := range rows {
			logical += logicalBytes(b, &rows[i])
		}
	}
	logical *= rounds
	b.SetBytes(logical)
	b.ReportAllocs()
	from, size := busy(b), int64(0)
	for b.Loop() {
		pass := exporters.NewPass(exporters.Files([]exporters.Format{trainers.Sequences}), trainset.Choice{}, formats.Tables{},
			exporters.Place{
				Begin: func(string) (io.Writer, error) { return io.Discard, nil },
			})
		for i := range rounds * len(groups) {
			if err := pass.Add(groups[i%len(groups)], true); err != nil {
				b.Fatal(err)
			}
		}
		if err := pass.Writers[0].End(); err != nil {
			b.Fatal(err)
		}
		size = pass.Writers[0].Bytes
		pass.Close()
	}
	b.ReportMetric(float64(logical)*float64(b.N)/(busy(b)-from)/1e6, "MB/cpu-s")
	b.ReportMetric(float64(size)/float64(logical), "file/logical")
}

// logicalBytes returns the bytes of a trajectory's sequences.
func logicalBytes(b *testing.B, t *formats.Trajectory) (n int64) {
	list, problem := sequences.Of(t)
	if problem != nil {
		b.Fatal(problem)
	}
	for i := range list {
		s := &list[i]
		n += int64(len(t.TrajectoryID) + len(t.ExampleID) + len(t.Group()) + len(s.Cause) + len(t.Status))
		n += 5*4 + 3*8                                     // epoch to sequences, tokens; reward, advantage, weight
		n += int64(4*len(s.Messages) + 16*len(s.Versions)) // their indexes; start, end and version
		n += int64(4*len(s.Prompt) + 4*len(s.Response) + len(s.Mask) + 4*len(s.Logprobs))
	}
	return n
}

// busy returns the processor seconds of this process.
func busy(b *testing.B) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
