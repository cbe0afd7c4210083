package art_test

import (
	"runtime"
	"testing"

	"github.com/rollmill/rollmill/formats"
	foreignart "github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
)

// repeated is a batch of any size from one group of realistic rows.
func repeated(n int) (backends.Groups, int64) {
	rows := randomtest.Group(1, 0, randomtest.Options{Scored: true})
	size := int64(len(foreignart.AppendGroup(nil, rows)))
	return func(yield func([]formats.Trajectory, error) bool) {
		for range n {
			if !yield(rows, nil) {
				return
			}
		}
	}, size * int64(n)
}

// BenchmarkSubmit encodes and sends over a real socket to a server that only
// counts.
func BenchmarkSubmit(b *testing.B) {
	server := arttest.New(arttest.Legacy, arttest.Faults{Discard: true})
	defer server.Close()
	host, port := server.Addr()
	tr, err := art.New(art.Config{IP: host, Port: port})
	if err != nil {
		b.Fatal(err)
	}
	const groups = 50
	batch, size := repeated(groups)
	b.SetBytes(size)
	for b.Loop() {
		before, err := tr.Begin(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		out, err := tr.Submit(b.Context(), backends.Submission{Token: "bench", Before: before}, batch, func(backends.JobEvent) {})
		if err != nil || out.State != receipts.JobCompleted {
			b.Fatal(out, err)
		}
	}
	b.ReportMetric(float64(8*groups*b.N)/b.Elapsed().Seconds(), "rows/s")
}

// TestMemoryDoesNotGrowWithTheBatch sends 200 MB and looks at the heap while
// it does.
func TestMemoryDoesNotGrowWithTheBatch(t *testing.T) {
	_, cfg := start(t, arttest.Legacy, arttest.Faults{Discard: true})
	tr := trainer(t, cfg)
	batch, size := repeated(200)
	before, err := tr.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var base, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&base)
	var peak uint64
	out, err := tr.Submit(t.Context(), backends.Submission{Token: "large", Before: before}, batch, func(e backends.JobEvent) {
		if e.Sent%20 == 1 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
		}
	})
	if err != nil || out.State != receipts.JobCompleted {
		t.Fatal(out, err)
	}
	if grown := int64(peak) - int64(base.HeapAlloc); grown > 16<<20 || size < 150<<20 {
		t.Errorf("the heap grew by %d bytes for %d sent", grown, size)
	}
}
