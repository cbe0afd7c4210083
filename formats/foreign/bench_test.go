package foreign

import (
	"io"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// BenchmarkExport writes rows of about 28 kB; MB/s are of the files written.
func BenchmarkExport(b *testing.B) {
	groups := slices.Collect(randomtest.Trajectories(5, randomtest.Options{Groups: 8, Scored: true}))
	for _, f := range exporters.Exports(Exporters) {
		if len(f.Format.Exports) == 0 {
			continue
		}
		b.Run(f.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pass := exporters.NewPass([]exporters.File{f}, trainset.Choice{}, formats.Tables{}, exporters.Place{
					Begin: func(string) (io.Writer, error) { return io.Discard, nil },
					Put:   func(string, string, []byte) error { return nil },
				})
				for _, group := range groups {
					if err := pass.Add(group, true); err != nil {
						b.Fatal(err)
					}
				}
				if err := pass.Writers[0].End(); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(pass.Writers[0].Bytes)
				pass.Close()
			}
		})
	}
}
