package verifiers

import (
	"bytes"
	"os"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// files: those that are not named written are by verifiers' own evaluation, or
// by rollmill export; the others are written to its models.
var files = []string{"testdata/traces-eval.jsonl", "testdata/traces-train.jsonl",
	"testdata/written-to-the-models.jsonl", "testdata/results-written.jsonl",
	"testdata/results.jsonl", "testdata/traces-train-broken.jsonl", "testdata/exported.jsonl"}

func TestRun(t *testing.T) { foreigntest.Importer(t, Importer, importers.Options{}, files...) }

func FuzzLine(f *testing.F) {
	foreigntest.Fuzz(f, Importer, importers.Options{}, "f.jsonl", foreigntest.Seeds(f, 24000, files[2:]...)...)
}

// BenchmarkParse converts episodes with tokens.
func BenchmarkParse(b *testing.B) {
	line, err := os.ReadFile("testdata/traces-train.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if p := Importer.Convert(importers.Record{Data: line}); p.Err != nil {
			b.Fatal(p.Err)
		}
	}
}
