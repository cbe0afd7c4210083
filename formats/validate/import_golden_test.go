package validate

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files")

func sprint(name string, n int64) string { return fmt.Sprintf("%s %d", name, n) }

// mixedRows returns rows with every finding, in a few files.
func mixedRows() []sourceRow {
	var rows []sourceRow
	for i, c := range spoiled {
		group := sound()
		group = c.spoil(group, group[0].T)
		for k := range group {
			group[k].Group = fmt.Sprint(group[k].Group, i)
			if group[k].ID != "" {
				group[k].ID += fmt.Sprint(i)
			}
		}
		rows = append(rows, group...)
	}
	for i := range rows {
		rows[i].File = [...]string{"data/a.jsonl", "data/b.jsonl", "s3://bucket/with/a/long/prefix/of/names/like-part-00000-of-00001.parquet"}[3*i/len(rows)]
		rows[i].Line, rows[i].Record = int64(i+1), int64(i)
		if 3*i/len(rows) == 2 {
			rows[i].Line = 0
		}
	}
	return rows
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed (go test -update writes it):\n%s", path, got)
	}
}

func TestJSON(t *testing.T) {
	var rows []sourceRow
	for i, r := range mixedRows() {
		if i%14 == 0 {
			rows = append(rows, r)
		}
	}
	got, err := json.MarshalIndent(reported(t, rows), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", append(got, '\n'))
}

func TestText(t *testing.T) {
	golden(t, "report.txt", text(t, reported(t, mixedRows())))
	golden(t, "sound.txt", text(t, reported(t, sound())))
}

// TestTextFits checks the width of reports with many files, long names and large
// numbers.
func TestTextFits(t *testing.T) {
	var rows []sourceRow
	for i := range 300 {
		for _, r := range mixedRows() {
			r.File = fmt.Sprint(strings.Repeat("ä", i), "\n", i)
			rows = append(rows, r)
		}
	}
	r := reported(t, rows)
	for i := range r.Uses {
		r.Uses[i].Of, r.Uses[i].Possible = 1e9, 1e9-1
	}
	for line := range strings.Lines(string(text(t, r))) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func text(t *testing.T, r Report) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := r.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
