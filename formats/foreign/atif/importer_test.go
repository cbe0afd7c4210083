package atif

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/rollmill/rollmill/formats"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// files: two are written to the letter of the RFC, nat-eval.json is by NAT's nat eval, exported.json by rollmill export, and the others are by Harbor's models.
var files = []string{"testdata/written-to-the-rfc.json", "testdata/versions.jsonl", "testdata/nat-eval.json",
	"testdata/continued.json", "testdata/subagent.json", "testdata/tools-1.json", "testdata/no-tokens.json",
	"testdata/exported.json"}

func TestRun(t *testing.T) { foreigntest.Importer(t, Importer, importers.Options{}, files...) }

func FuzzDocument(f *testing.F) {
	seeds := foreigntest.Seeds(f, 1<<20, "testdata/written-to-the-rfc.json", "testdata/subagent.json",
		"testdata/continued.json", "testdata/tools-1.json", "testdata/exported.json")
	for _, lines := range foreigntest.Seeds(f, 1<<20, "testdata/versions.jsonl") {
		seeds = append(seeds, bytes.Split(lines, []byte("\n"))...)
	}
	for i := range seeds {
		var small bytes.Buffer // without the indents
		if json.Compact(&small, seeds[i]) == nil {
			seeds[i] = small.Bytes()
		}
	}
	foreigntest.Fuzz(f, Importer, importers.Options{}, "f.json", seeds...)
}

// What export keeps in extra is refused by name when it is damaged.
func TestDamagedExtra(t *testing.T) {
	const doc = `{"schema_version":"ATIF-v1.7","agent":{"name":"rollmill"},"steps":[{"step_id":1,"source":"user","message":"q"},` +
		`{"step_id":2,"source":"agent","message":"a","extra":{"call":{"policy_version":%s}}}],"extra":%s}`
	for _, c := range []struct{ version, extra, want string }{
		{"3", `{"example_id":"x","example":"{}"}`, ""},
		{"3", `{"example":"[1]"}`, "extra.example: "},
		{"3", `{"epoch":"one"}`, "extra: "},
		{"3", `{"generation":1e99}`, "extra: "},
		{"3", `{"status":"fine"}`, `status`},
		{"\"new\"", `{}`, "steps[1]: extra.call.policy_version "},
	} {
		r := importers.Record{Data: fmt.Appendf(nil, doc, c.version, c.extra)}
		p := Importer.Convert(r)
		if got := fmt.Sprint(p.Err); c.want == "" && p.Err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s", c.version, c.extra, got)
		}
	}
}

// TestAudio of version 1.8 leaves as it came, and makes the document one of that version.
func TestAudio(t *testing.T) {
	for parts, want := range map[string]string{
		`[{"type":"text","text":"hear"},{"type":"audio","source":{"media_type":"audio/wav","path":"a.wav","duration_sec":2.5}}]`: "ATIF-v1.8",
		`[{"type":"image","source":{"media_type":"image/png","path":"a.png"}}]`:                                                  "ATIF-v1.7",
	} {
		row := formats.Trajectory{Messages: []formats.Message{{Parent: -1, Role: "user", ContentParts: parts, Call: -1}}}
		d := documentOf(&row, func(part string) { t.Error(part) })
		if got, _ := json.Marshal(d.Steps[0].Message); d.SchemaVersion != want || string(got) != parts {
			t.Errorf("%s: %s, want %s", d.SchemaVersion, got, want)
		}
	}
}
