package scout

import (
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// files: the Parquet file is by rollmill export; transcripts.jsonl is written to Scout's schema.
var files = []string{"../../../testdata/consumers/exports/golden/inspect-scout.parquet", "testdata/transcripts.jsonl"}

func TestRun(t *testing.T) { foreigntest.Importer(t, Importer, importers.Options{}, files...) }

func FuzzTranscript(f *testing.F) {
	foreigntest.Fuzz(f, Importer, importers.Options{}, "f.jsonl", foreigntest.Seeds(f, 8000, files[1])...)
}
