package validate

import (
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// BenchmarkDoctor shows rows to the checks that submit makes of each row.
func BenchmarkDoctor(b *testing.B) {
	var rows []formats.Trajectory
	for group := range randomtest.Trajectories(1, randomtest.Options{Groups: 50, Scored: true}) {
		rows = append(rows, group...)
	}
	b.ReportAllocs()
	for b.Loop() {
		d := NewDoctor(In(Submit))
		for i := range rows {
			r := WideRow(int64(i), &rows[i])
			d.Row(&r)
		}
		d.Found("")
	}
	b.ReportMetric(float64(b.N*len(rows))/b.Elapsed().Seconds(), "rows/s")
}
