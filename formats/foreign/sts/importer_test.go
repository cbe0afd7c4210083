package sts

import (
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// files are written to the specification of the hub, of Pi and of Codex, and to
// what is known of Claude Code's, which has none.
var files = []string{"testdata/sts.jsonl", "testdata/rollmill.jsonl", "testdata/pi.jsonl",
	"testdata/claude-code.jsonl", "testdata/claude-subagent.jsonl",
	"testdata/codex.jsonl", "testdata/codex-2025.jsonl", "testdata/not-a-session.jsonl", "testdata/cut-short.jsonl",
	"testdata/claude-code-by-schema.jsonl", "testdata/codex-by-schema.jsonl", "testdata/pi-by-schema.jsonl",
	"testdata/sts-by-schema.jsonl"}

func TestRun(t *testing.T) { foreigntest.Importer(t, Importer, importers.Options{}, files...) }

func FuzzSession(f *testing.F) {
	foreigntest.Fuzz(f, Importer, importers.Options{}, "f.jsonl", foreigntest.Seeds(f, 8000, files...)...)
}
