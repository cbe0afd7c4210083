package chat_test

import (
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// The first three are written to the letter of LLaMA-Factory's documentation and
// of a dataset's card.
var shareGPTFiles = []string{"testdata/sharegpt/llama-factory-by-docs.jsonl",
	"testdata/sharegpt/llama-factory-preference-by-docs.jsonl", "testdata/sharegpt/sharegpt52k-by-card.json",
	"testdata/sharegpt/sharegpt-odd.jsonl"}

func TestShareGPTFiles(t *testing.T) {
	foreigntest.Importer(t, chat.ShareGPT, importers.Options{}, shareGPTFiles...)
}

func FuzzImportShareGPT(f *testing.F) {
	foreigntest.Fuzz(f, chat.ShareGPT, importers.Options{}, "x.jsonl", foreigntest.Seeds(f, 16<<10, shareGPTFiles...)...)
}
