package inspect

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

const made = "../../../testdata/importers/inspect/"

// files are by inspect_ai 0.3.285, except schema.json, which is written to its schema.
var files = []string{made + "sums.eval", made + "choices.eval", made + "choices.json", "testdata/schema.json"}

func TestRun(t *testing.T) { foreigntest.Importer(t, Importer, importers.Options{}, files...) }

// deflated returns an .eval file of an older Inspect, which deflates its entries.
func deflated(t testing.TB, entries ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w, err := z.Create(e[0])
		if err == nil {
			_, err = io.WriteString(w, e[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	about2  = `{"eval": {"task": "t", "model": "m"}}`
	sample2 = `{"id": %, "epoch": 1, "input": "Hi", "target": "x", "messages": [{"role": "assistant", "content": "x", "source": "generate"}], "scores": {"s": {"value": "C"}}}`
)

func TestArchive(t *testing.T) {
	sample := func(id string) string { return strings.Replace(sample2, "%", id, 1) }
	for _, x := range []struct {
		name string
		file []byte
		want []string // parts of the rows, in order
	}{
		{"repeats are adjacent, and the last entry of a name counts",
			deflated(t, [2]string{"_journal/start.json", about2}, [2]string{"samples/1_epoch_1.json", sample("9")},
				[2]string{"samples/2_epoch_1.json", sample("2")}, [2]string{"samples/1_epoch_2.json", sample("1")},
				[2]string{"samples/1_epoch_1.json", sample("3")}, [2]string{"summaries.json", "[]"}),
			[]string{`"ExampleID":"t/3"`, `"ExampleID":"t/1"`, `"ExampleID":"t/2"`}},
		{"a sample in chunks", deflated(t, [2]string{"samples/1_epoch_1/sample.json", "{}"},
			[2]string{"samples/1_epoch_1/events/0.json", "[]"}), []string{"inspect log convert"}},
		{"no header", deflated(t, [2]string{"samples/1_epoch_1.json", sample("1")}), []string{`"ExampleID":"1"`}},
		{"a broken sample", deflated(t, [2]string{"header.json", about2}, [2]string{"samples/1_epoch_1.json", "{"},
			[2]string{"samples/2_epoch_1.json", sample("2")}),
			[]string{`entry "samples/1_epoch_1.json" record 0: it is not JSON`, `"ExampleID":"t/2"`}},
		{"not a zip", []byte("no"), []string{"cannot be read as a zip"}},
	} {
		rows := foreigntest.Rows(Importer, importers.Options{}, "f.eval", x.file)
		rest := rows
		for _, w := range x.want {
			_, after, found := strings.Cut(rest, w)
			if !found {
				t.Errorf("%s: no %s in order in\n%s", x.name, w, rows)
			}
			rest = after
		}
	}
}

func TestAttachmentsAreBounded(t *testing.T) {
	refs := newAttachments([]byte(`{"a": "` + strings.Repeat("x", 1<<20) + `"}`))
	format := importers.Format{}.ParsedBy(func(*importers.Record) ([]importers.Item, error) {
		refs.resolve([]byte("[" + strings.Repeat(`"attachment://a",`, 600) + "0]"))
		return nil, nil
	})
	if err := format.Convert(importers.Record{}).Err; err == nil || !strings.Contains(err.Error(), "larger than a document") {
		t.Error("600 MiB of attachments were resolved")
	}
}

func FuzzLog(f *testing.F) {
	var seeds [][]byte // a log for each sample
	for _, data := range foreigntest.Seeds(f, 1<<20, "testdata/schema.json") {
		log := importers.File{Name: "f.json", R: bytes.NewReader(data), Size: int64(len(data))}
		for r, err := range Importer.Records.All(log) {
			if err != nil {
				f.Fatal(err)
			}
			seeds = append(seeds, []byte(`{"eval":{"task":"t","model":"a/one"},"samples":[`+jsontext.Compact(r.Data)+`]}`))
		}
	}
	foreigntest.Fuzz(f, Importer, importers.Options{}, "f.json", seeds...)
}

func FuzzArchive(f *testing.F) {
	seeds := append(foreigntest.Seeds(f, 1<<20, made+"choices.eval"),
		deflated(f, [2]string{header, about2}, [2]string{"samples/1_epoch_1.json", strings.Replace(sample2, "%", "1", 1)}))
	foreigntest.Fuzz(f, Importer, importers.Options{}, "f.eval", seeds...)
}
