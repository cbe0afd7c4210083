package examples

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/storage/fault"
)

func read(t *testing.T, name, text string, o Options) ([]formats.Example, Report, error) {
	t.Helper()
	set, report, err := Read(name, strings.NewReader(text), int64(len(text)), o)
	if err != nil {
		return nil, report, err
	}
	if report.Rows != report.Kept+int(dropped(report)) || len(report.Drops) > listedDrops {
		t.Errorf("counts do not add up: %d rows, %d kept, dropped %v", report.Rows, report.Kept, report.Counts)
	}
	return list(t, set), report, nil
}

func mustRead(t *testing.T, name, text string, o Options) ([]formats.Example, Report) {
	t.Helper()
	rows, report, err := read(t, name, text, o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return rows, report
}

func ids(rows []formats.Example) string {
	var out []string
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return strings.Join(out, " ")
}

// The same three rows in every format that keeps types give the same examples.
func TestOneTableInEveryFormat(t *testing.T) {
	want := []formats.Example{
		{ID: "q1", Question: "2+2?", Answer: "4", Row: 0},
		{ID: "q2", Question: "where, \"exactly\"?", Answer: "None", Row: 1},
		{ID: "007", Question: "trois\nlignes é <b>?", Answer: "", Row: 2},
	}
	paths, err := filepath.Glob("../../testdata/examples/table.*")
	if err != nil || len(paths) != 6 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, report, err := read(t, path, string(file), Options{RequireQuestion: true})
		if err != nil || report.Kept != 3 || len(report.Warnings) != 0 {
			t.Errorf("%s: %+v, %v", path, report, err)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(string(got[i].Fields), `{"id":`) {
				t.Errorf("%s row %d: fields %s are not in order", path, i, got[i].Fields)
			}
			got[i].Fields = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
}

func TestValuesStayAsWritten(t *testing.T) {
	cases := map[string]struct{ name, text, id, question, answer, fields string }{
		"numbers and keys in order": {"a.jsonl", `{"z": 1.50, "id": 7, "question": 12345678901234567890, "answer": 1e3, "a": [1, {"b": null}]}`,
			"7", "12345678901234567890", "1e3", `{"z":1.50,"id":7,"question":12345678901234567890,"answer":1e3,"a":[1,{"b":null}]}`},
		"an id that was a float": {"a.jsonl", `{"id": 7.0, "question": "q"}`, "7", "q", "", `{"id":7.0,"question":"q"}`},
		"a version is no float":  {"a.jsonl", `{"id": "v1.0", "question": "q"}`, "v1.0", "q", "", `{"id":"v1.0","question":"q"}`},
		"leading zeros":          {"a.csv", "id,question,answer\n001,q,NA\n", "001", "q", "NA", `{"id":"001","question":"q","answer":"NA"}`},
		"the word NaN in a text": {"a.jsonl", `{"id": "x", "question": "is NaN \"NaN\"?"}`, "x", `is NaN "NaN"?`, "",
			`{"id":"x","question":"is NaN \"NaN\"?"}`},
		"a question of parts": {"a.jsonl", `{"id": "x", "question": [{"role": "user"}]}`, "x", `[{"role":"user"}]`, "",
			`{"id":"x","question":[{"role":"user"}]}`},
		"markup": {"a.json", `[{"id": "x", "question": "<a & b>"}]`, "x", "<a & b>", "", `{"id":"x","question":"<a & b>"}`},
	}
	for name, c := range cases {
		rows, _ := mustRead(t, c.name, c.text, Options{RequireQuestion: true})
		want := []formats.Example{{ID: c.id, Question: c.question, Answer: c.answer, Fields: []byte(c.fields)}}
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestLinesAreRead(t *testing.T) {
	text := "\xef\xbb\xbf\r\n{\"id\":1,\"question\":\"a\"}\r\n\n   \n{\"id\":2,\"question\":\"" + strings.Repeat("long ", 40_000) + "\"}"
	rows, report := mustRead(t, "x.NDJSON", text, Options{RequireQuestion: true})
	if ids(rows) != "1 2" || report.Rows != 2 || len(rows[1].Question) != 200_000 {
		t.Errorf("ids %s, %d rows", ids(rows), report.Rows)
	}
}

func TestColumnMapOfPandas(t *testing.T) {
	text := `{"id":{"0":"a","1":"b","10":"d","2":"c"},"question":{"0":"A","1":"B","2":"C","10":"D"},"extra":{"1":5}}`
	rows, report := mustRead(t, "x.json", text, Options{})
	if ids(rows) != "a b c d" {
		t.Errorf("ids %s", ids(rows))
	}
	if diff := cmp.Diff([]string{"id", "question", "extra"}, report.Columns); diff != "" {
		t.Error(diff)
	}
	if got := string(rows[1].Fields); got != `{"id":"b","question":"B","extra":5}` {
		t.Errorf("row 1 is %s", got)
	}
}

func TestDroppedRowsAreReported(t *testing.T) {
	text := `{"id":"a","question":"one"}
{"id":"b","question":"  "}
{"id":1,"question":"two"}
{"question":"two","id":"1"}
{"id":"c"}
{"question":"no id"}
{"id":"row-5","question":"took the name"}
{"id":"d","question":null}
`
	rows, report := mustRead(t, "x.jsonl", text, Options{RequireQuestion: true})
	if ids(rows) != "a 1 row-5_ row-5" {
		t.Errorf("ids %s", ids(rows))
	}
	want := []Drop{
		{Row: 1, ID: "b", Reason: DropBlank},
		{Row: 3, ID: "1", Reason: DropDuplicate, Detail: "row 2 is the same"},
		{Row: 4, ID: "c", Reason: DropBlank},
		{Row: 7, ID: "d", Reason: DropBlank},
	}
	if diff := cmp.Diff(want, report.Drops); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int64{DropBlank: 3, DropDuplicate: 1}, report.Counts); diff != "" {
		t.Error(diff)
	}
	warned(t, report, "1 rows have no id", "mixed types")
}

func warned(t *testing.T, r Report, want ...string) {
	t.Helper()
	if len(r.Warnings) != len(want) {
		t.Errorf("warnings %q, want %q", r.Warnings, want)
		return
	}
	for i := range want {
		if !strings.Contains(r.Warnings[i], want[i]) {
			t.Errorf("warning %q, want %q", r.Warnings[i], want[i])
		}
	}
}

func TestWarnings(t *testing.T) {
	for name, text := range map[string]string{
		"x.jsonl": `{"question":"a"}
{"question":"b"}
{"question": "a"}
{"question":"c","id":"c"}
{"question":"a"}
{"question":""}
{"question":""}
`,
		"x.csv": "question\na\nb\na\na\n"} {
		rows, r := mustRead(t, name, text, Options{RequireQuestion: true})
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "; rows that repeat an earlier one: 2,") {
			t.Errorf("%s: %s, %q", name, ids(rows), r.Warnings)
		}
	}
	_, once := mustRead(t, "x.csv", "question\na\nb\n", Options{})
	if len(once.Warnings) != 1 || strings.Contains(once.Warnings[0], "equal") {
		t.Errorf("%q", once.Warnings)
	}
	_, r := mustRead(t, "x.csv", "question,generated_answer\na,x\nb,\nc\n", Options{})
	warned(t, r, "no id column", "fewer fields", `"generated_answer" is filled in 1 of 3`)
	_, r = mustRead(t, "x.jsonl", "\n", Options{RequireQuestion: true})
	warned(t, r, "the file has no rows")
	_, r = mustRead(t, "x.jsonl", `{"id":"a","question":"q"}`, Options{Deny: map[string][]string{"id": {"?"}}})
	warned(t, r, "all 1 rows were dropped")
}

func TestFieldNamesAndUnstructuredRows(t *testing.T) {
	names := formats.FieldNames{ID: "key", Question: "prompt", Answer: "gold", GeneratedAnswer: "said"}
	rows, _ := mustRead(t, "x.csv", "key,prompt,gold,said\nk,p,g,s\n", Options{Names: names, RequireQuestion: true})
	if r := rows[0]; r.ID != "k" || r.Question != "p" || r.Answer != "g" || r.GeneratedAnswer != "s" {
		t.Errorf("%+v", r)
	}
	rows, _ = mustRead(t, "x.json", `[{"id": "a", "board": [1, 2]}]`, Options{Unstructured: true, RequireQuestion: true})
	if r := rows[0]; r.ID != "a" || r.Question != `{"id":"a","board":[1,2]}` || r.Answer != "" {
		t.Errorf("%+v", r)
	}
	rows, _ = mustRead(t, "x.json", `[{"id": "a"}]`, Options{})
	if len(rows) != 1 || rows[0].Question != "" {
		t.Errorf("a row without question, which was not required: %+v", rows)
	}
}

func TestFilters(t *testing.T) {
	text := `{"id":"a","topic":"math/algebra","n":1,"hard":true}
{"id":"b","topic":"Math/algebra","n":2.0,"hard":false}
{"id":"c","topic":"art","n":3,"hard":false}
{"id":"d","n":4}
`
	cases := map[string]struct {
		allow, deny map[string][]string
		want        string
	}{
		"nothing":                        {nil, nil, "a b c d"},
		"a star crosses slashes":         {map[string][]string{"topic": {"math*"}}, nil, "a"},
		"case counts":                    {map[string][]string{"topic": {"[mM]ath/*"}}, nil, "a b"},
		"the whole value":                {map[string][]string{"topic": {"math"}}, nil, ""},
		"any of several":                 {map[string][]string{"topic": {"art", "math/algebr?"}}, nil, "a c"},
		"deny":                           {nil, map[string][]string{"topic": {"a*"}}, "a b d"},
		"columns combine with and":       {map[string][]string{"topic": {"*"}, "n": {"1"}}, map[string][]string{"id": {"x"}}, "a"},
		"numbers as written":             {map[string][]string{"n": {"2.0", "3"}}, nil, "b c"},
		"negated set":                    {map[string][]string{"id": {"[!a-c]"}}, nil, "d"},
		"booleans as Python writes them": {map[string][]string{"hard": {"True"}}, nil, "a"},
		"a bracket that does not close":  {map[string][]string{"id": {"[a"}}, nil, ""},
		"a set with a closing bracket":   {map[string][]string{"id": {"[]a]"}}, nil, "a"},
		"characters that regexps know":   {map[string][]string{"topic": {"a.t", "(art)", "^art$", "a+rt|art"}}, nil, ""},
	}
	for name, c := range cases {
		rows, _ := mustRead(t, "x.jsonl", text, Options{Allow: c.allow, Deny: c.deny})
		if got := ids(rows); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestBadFilesAreNamedErrors(t *testing.T) {
	cases := []struct {
		name, text string
		row        int64
		want, hint string
	}{
		{"x.jsonl", "{\"id\":1}\n\n{\"id\":2", 1, "line 3", ""},
		{"x.jsonl", "[1]\n", 0, "not a JSON object", ""},
		{"x.jsonl", "{} {}\n", 0, "after top-level value", ""},
		{"x.jsonl", "{\"id\":\"\xff\"}\n", -1, "line 1: the text is not UTF-8", "save the file as UTF-8"},
		{"x.jsonl", "\xff\xfe{\x00}\x00", -1, "UTF-16", "save the file as UTF-8"},
		{"x.json", "", -1, "empty", "array of records"},
		{"x.json", "[{\"id\":1},\n{\"id\":2,]", 1, "line 2", ""},
		{"x.json", "[{\"id\":1}", -1, "does not end", ""},
		{"x.json", "[{\"id\":1}] x", -1, "something follows", ""},
		{"x.json", "[1]", 0, "not a JSON object", ""},
		{"x.json", "\"text\"", -1, "begins with", "array of records"},
		{"x.json", "{\"id\":1}\n{\"id\":2}\n", -1, "a second value", "jsonl"},
		{"x.json", "{\"id\":1,\"question\":2}", -1, `column "id"`, "jsonl"},
		{"x.csv", "", -1, "empty", "first line"},
		{"x.csv", "id,id\n", -1, "two columns", "rename"},
		{"x.csv", "id,question\n1,a\n2,b,c\n", 1, "line 3", ""},
		{"x.csv", "id,question\n1,\"a\n", 0, "line", ""},
		{"x.csv", "id,question\n1,\xe9\n", 0, "not UTF-8", "save the file as UTF-8"},
		{"x.parquet", "id,question\n", -1, "Parquet", ""},
		{"x.xlsx", "PK", -1, "names no known format", "save the sheet as CSV"},
		{"x", "{}", -1, "names no known format", "csv, json, jsonl, parquet"},
		{"x.csv", "id,prompt\n1,a\n", -1, `no question column "question"`, `"id", "prompt"`},
	}
	for _, c := range cases {
		rows, _, err := read(t, c.name, c.text, Options{RequireQuestion: true})
		invalid := (*fault.Error)(nil)
		if !errors.As(err, &invalid) || !errors.Is(err, fault.ErrInvalid) || rows != nil {
			t.Errorf("%s %.30q: %v", c.name, c.text, err)
			continue
		}
		if invalid.Row != c.row || invalid.Place != c.name || !strings.Contains(err.Error(), c.want) || !strings.Contains(fault.HintOf(invalid), c.hint) {
			t.Errorf("%s %.30q: row %d, %v, hint %q; want row %d, %q, %q", c.name, c.text, invalid.Row, err, fault.HintOf(invalid), c.row, c.want, c.hint)
		}
	}
}

func TestFormatIsChosenByNameUnlessGiven(t *testing.T) {
	if rows, _ := mustRead(t, "s3://b/x.CSV?region=y", "id\n1\n", Options{}); ids(rows) != "1" {
		t.Errorf("ids %s", ids(rows))
	}
	if rows, _ := mustRead(t, "x.txt", `{"id":1}`, Options{Format: "jsonl"}); ids(rows) != "1" {
		t.Errorf("ids %s", ids(rows))
	}
	if _, _, err := read(t, "x.json", "[]", Options{Format: "xls"}); err == nil || !strings.Contains(err.Error(), `"xls"`) {
		t.Errorf("got %v", err)
	}
	if got := records.Formats(); !slices.Equal(got, []string{"arrow", "csv", "json", "jsonl", "parquet"}) {
		t.Errorf("formats %v", got)
	}
}

func TestALineWithoutEndIsRefusedBeforeItFillsTheMemory(t *testing.T) {
	_, _, err := Read("x.jsonl", endless{}, 1<<40, Options{})
	if err == nil || !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) ReadAt(p []byte, _ int64) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type failing struct{}

var errDisk = errors.New("the disk is gone")

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

func TestReadErrorsAreNotBadInput(t *testing.T) {
	for _, f := range records.Formats() {
		_, _, err := Read("x."+f, failing{}, 100, Options{})
		if !errors.Is(err, errDisk) || errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), `"x.`) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestBrokenFixturesAreNamedErrors(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/broken/*.*")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d fixtures, %v", len(paths), err)
	}
	for _, path := range paths {
		if !slices.Contains(records.Extensions(), filepath.Ext(path)) {
			continue
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Read(path, bytes.NewReader(file), int64(len(file)), Options{RequireQuestion: true})
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		} else {
			t.Log(err)
		}
	}
}
