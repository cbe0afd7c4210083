package examples

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/storage/fault"
)

// Whatever the text, reading it gives rows that add up and are JSON objects, or
// an error that names the file.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`[{"id":"a","question":"q"}]`, `{"id":{"0":1},"question":{"0":NaN}}`, "{\"id\":1}\n\n{\"id\":2.0}",
		"id,question\n1,\"a\nb\"\n", "\xef\xbb\xbfid\n", `[{"a":-Infinity,"b":"\ud800"}]`, "{\"\":\"\\\"NaN\"}", "[A0\xf0",
	} {
		for _, format := range []string{"json", "jsonl", "csv"} {
			f.Add(format, text)
		}
	}
	stream, err := os.ReadFile("../../testdata/examples/table.arrow")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("arrow", string(stream))
	f.Fuzz(func(t *testing.T, format, text string) {
		if format == "parquet" {
			return
		}
		set, report, err := Read("x", strings.NewReader(text), int64(len(text)), Options{Format: format, Deny: map[string][]string{"q": {"[!a]*"}}})
		if err != nil {
			if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), `"x"`) {
				t.Fatalf("error without kind or place: %v", err)
			}
			return
		}
		rows := list(t, set)
		if report.Kept != len(rows) || report.Rows != report.Kept+int(dropped(report)) {
			t.Fatalf("counts do not add up: %+v", report)
		}
		seen := map[string]bool{}
		for _, r := range rows {
			if seen[r.ID] || r.ID == "" {
				t.Fatalf("id %q is empty or comes twice", r.ID)
			}
			seen[r.ID] = true
			if !json.Valid(r.Fields) || r.Fields[0] != '{' {
				t.Fatalf("row %d: fields %q", r.Row, r.Fields)
			}
		}
	})
}
