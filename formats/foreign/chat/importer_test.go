package chat_test

import (
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

func importFiles(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"testdata/*.jsonl", "testdata/*.parquet", "testdata/*.csv", "testdata/*.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		t.Fatal("no files")
	}
	return all
}

func TestFiles(t *testing.T) {
	foreigntest.Importer(t, chat.Importer, importers.Options{}, importFiles(t)...)
}

// Columns with other names than the fields.
func TestMappedFiles(t *testing.T) {
	for file, columns := range map[string]map[string]string{
		"biology-qa.jsonl": {"prompt": "question", "completion": "answer"},
		"popularity.jsonl": {"prompt": "question", "chosen": "answer_matching_behavior",
			"rejected": "answer_not_matching_behavior"},
		"swe-agent-trajectories-by-card.parquet": {"messages": "trajectory", "reward": "target"},
		"swe-zero-openhands-by-card.parquet":     {"messages": "trajectory"},
		"swapped.jsonl":                          {"prompt": "answer", "completion": "question", "answer": "answer"},
	} {
		foreigntest.Importer(t, chat.Importer, importers.Options{Map: columns}, "testdata/mapped/"+file)
	}
}

func FuzzImport(f *testing.F) {
	foreigntest.Fuzz(f, chat.Importer, importers.Options{}, "x.jsonl", foreigntest.Seeds(f, 16<<10, importFiles(f)...)...)
}

func FuzzMapped(f *testing.F) {
	o := importers.Options{Map: map[string]string{"messages": "a", "prompt": "b", "completion": "c", "reward": "d",
		"answer": "c"}}
	foreigntest.Fuzz(f, chat.Importer, o, "x.jsonl",
		[]byte(`{"a":[{"role":"assistant","content":"x"}],"d":1,"prompt":2}`), []byte(`{"b":"x","c":"y","reward":{}}`))
}
