package nemogym

import (
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// files: blackjack and the examples are shipped by NeMo Gym, the others are
// written to its schema.
var files = []string{"testdata/blackjack.jsonl", "testdata/example_mcp_weather.jsonl",
	"testdata/example_single_tool_call.jsonl",
	"testdata/tokens-by-schema.jsonl", "testdata/tokens-by-schema_capture.jsonl", "testdata/written-to-the-schema.jsonl"}

func TestRun(t *testing.T) { foreigntest.Importer(t, Importer, importers.Options{}, files...) }

func FuzzLine(f *testing.F) {
	foreigntest.Fuzz(f, Importer, importers.Options{}, "f.jsonl", foreigntest.Seeds(f, 8000, files...)...)
}
