package convert_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// line is a record of the tests' own format.
type line struct {
	ID, Example, Question, Answer string
	Before                        string // an answer before the last one
	Reward                        *float64
	Attempt                       *int64
	Pair                          importers.PairSide
	Other                         string // an answer that is rejected
	Label                         *bool
	Lost                          string
	Bad                           bool
}

var format = importers.Format{Name: "test", Extensions: []string{".jsonl"}, Fields: []importers.Field{{Name: "question"}}, Records: importers.Rows}.ParsedBy(
	func(r *importers.Record) ([]importers.Item, error) {
		var l line
		if err := json.Unmarshal(r.Data, &l); err != nil {
			return nil, err
		}
		if l.Bad {
			return nil, errors.New("it is bad")
		}
		if l.Lost != "" {
			r.Lose("lost", "there is no place for it")
		}
		one := func(answer string, reward *float64, side importers.PairSide) importers.Item {
			var c importers.Conversation
			c.Input(formats.Message{Role: "user", Content: l.Question})
			if l.Before != "" {
				c.Sampled(formats.Message{Role: "assistant", Content: l.Before}, formats.Call{Target: true, Model: "m"})
				c.Input(formats.Message{Role: "user", Content: "go on"})
			}
			c.Sampled(formats.Message{Role: "assistant", Content: answer}, formats.Call{Target: true, Model: "m"})
			x := importers.Item{Row: formats.Trajectory{TrajectoryID: l.ID, ExampleID: l.Example, Reward: reward}, Attempt: l.Attempt, Pair: side,
				Label: l.Label}
			c.Into(&x.Row)
			return x
		}
		if l.Other != "" {
			good, bad := 1.0, 0.0
			return []importers.Item{one(l.Answer, &good, importers.Chosen), one(l.Other, &bad, importers.Rejected)}, nil
		}
		return []importers.Item{one(l.Answer, l.Reward, l.Pair)}, nil
	})

// file returns a file of records.
func file(name string, lines ...line) convert.File {
	var b bytes.Buffer
	for _, l := range lines {
		data, _ := json.Marshal(l)
		b.Write(append(data, '\n'))
	}
	return text(name, b.String())
}

func text(name, s string) convert.File {
	return convert.File{Name: name, URI: name + ".jsonl", Open: func(context.Context) (convert.Content, error) { return content{strings.NewReader(s)}, nil }}
}

type content struct{ *strings.Reader }

func (content) Close() error { return nil }

func options(out string, files ...convert.File) convert.ImportOptions {
	o := convert.ImportDefaults()
	o.Format, o.Files, o.Source, o.Run = format, files, manifest.Ref{Role: "source", URI: "files"}, "run"
	o.Out = stages.Output{URI: out}
	return o
}

func run(t *testing.T, o convert.ImportOptions) convert.ImportReport {
	t.Helper()
	r, err := convert.Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rows returns the rows of a dataset in order.
func rows[T any](t *testing.T, uri, table string) (out []T) {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := d.Rows
	if table != "" {
		n = d.Tables[table].Rows
	}
	r, err := dataset.NewReader[T](t.Context(), d, table, dataset.Range{Rows: n})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out = make([]T, n)
	for read := 0; read < len(out); {
		n, err := r.Read(out[read:])
		if n == 0 {
			t.Fatal(err)
		}
		read += n
	}
	return out
}

func many(n int) (lines []line) {
	for i := range n {
		reward := float64(i % 3)
		lines = append(lines, line{ID: fmt.Sprint("t", i), Question: fmt.Sprint("question ", i/4), Answer: fmt.Sprint("answer ", i%2), Reward: &reward})
	}
	return lines
}

func TestShardsGiveTheRowsOfOne(t *testing.T) {
	dir, lines := t.TempDir(), many(400)
	whole := run(t, options(filepath.Join(dir, "whole"), file("a", lines[:150]...), file("b", lines[150:]...)))
	if !whole.Sealed || whole.Rows != 400 || whole.Counts["ok"] != 400 {
		t.Fatalf("%+v", whole.Report)
	}
	o := options(filepath.Join(dir, "parts"), file("a", lines[:150]...), file("b", lines[150:]...))
	var last convert.ImportReport
	for i := range 3 {
		o.Out.Shard = stages.Shard{Index: i, Count: 3}
		last = run(t, o)
	}
	if !last.Sealed || last.RowsDigest != whole.RowsDigest {
		t.Errorf("%+v, want the digest %s", last.Report, whole.RowsDigest)
	}
	if again := run(t, o); !again.UpToDate {
		t.Error("a second run does the work again")
	}
	seen := map[string]int{}
	group := ""
	for _, r := range rows[formats.Trajectory](t, o.Out.URI, "") {
		if seen[r.ExampleID]++; r.ExampleID != group && seen[r.ExampleID] > 1 {
			t.Fatal("a group is not adjacent")
		}
		if group = r.ExampleID; int(r.Generation) != seen[r.ExampleID]-1 {
			t.Fatalf("generation %d, the %dth of its group", r.Generation, seen[r.ExampleID])
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d groups", len(seen))
	}
}

func TestScatteredGroupsGiveTheSameRowsSorted(t *testing.T) {
	dir, lines := t.TempDir(), many(3000)
	for i := range lines {
		n := int64(i)
		lines[i].Attempt = &n
	}
	adjacent := run(t, options(filepath.Join(dir, "adjacent"), file("a", lines...)))
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	o := options(filepath.Join(dir, "scattered"), file("a", lines...))
	o.Spill.Memory = 64 << 10
	if scattered := run(t, o); scattered.RowsDigest != adjacent.RowsDigest || scattered.Checks.Rows != 3000 {
		t.Errorf("other rows: %s and %s", scattered.RowsDigest, adjacent.RowsDigest)
	}
	group := ""
	seen := map[string]bool{}
	for _, r := range rows[formats.Trajectory](t, o.Out.URI, "") {
		if r.ExampleID != group && seen[r.ExampleID] {
			t.Fatal("a group is not adjacent")
		}
		group, seen[r.ExampleID] = r.ExampleID, true
	}
}

func TestIDsDependOnContentAndTheSourcesOwn(t *testing.T) {
	dir := t.TempDir()
	lines := []line{{ID: "x", Question: "q", Answer: "a"}, {Question: "q", Answer: "a"}, {Question: "q", Answer: "a"}, {ID: "x", Question: "q", Answer: "b"},
		{ID: "x", Example: "e", Question: "q", Answer: "a"}}
	run(t, options(filepath.Join(dir, "a"), file("a", lines...)))
	first := rows[formats.Trajectory](t, filepath.Join(dir, "a"), "")
	ids := map[string]bool{}
	for _, r := range first {
		ids[r.TrajectoryID] = true
	}
	if len(ids) != 5 || first[0].ExampleID != first[3].ExampleID || first[4].ExampleID != "e" || first[0].Metadata != `{"source_id":"x"}` ||
		first[1].Metadata != "" {
		t.Errorf("%d ids: %+v", len(ids), first)
	}
	slices.Reverse(lines)
	o := options(filepath.Join(dir, "b"), file("other name", lines...))
	o.Run = "other"
	run(t, o)
	for _, r := range rows[formats.Trajectory](t, o.Out.URI, "") {
		if !ids[r.TrajectoryID] && r.Metadata == "" {
			t.Errorf("%q has another id where it is imported from elsewhere", r.Answer)
		}
	}
}

func TestGroupsByFieldAndByFile(t *testing.T) {
	dir := t.TempDir()
	lines := []line{{ID: "x", Example: "e", Question: "q", Answer: "a"}, {ID: "y", Example: "f", Question: "q", Answer: "b"}}
	by := func(name, by string, groups map[string]string) ([]formats.Trajectory, error) {
		o := options(filepath.Join(dir, name), file("a", lines...))
		o.GroupBy, o.Groups = by, groups
		if _, err := convert.Import(t.Context(), o); err != nil {
			return nil, err
		}
		return rows[formats.Trajectory](t, o.Out.URI, ""), nil
	}
	if r, err := by("prompt", "prompt", nil); err != nil || r[0].ExampleID != r[1].ExampleID || r[1].Generation != 1 {
		t.Errorf("%v %+v", err, r)
	}
	if r, err := by("file", "@ids", map[string]string{"x": "one", "y": "one"}); err != nil || r[1].ExampleID != "one" {
		t.Errorf("%v %+v", err, r)
	}
	if _, err := by("missing", "@ids", map[string]string{"x": "one"}); !errors.Is(err, fault.ErrInvalid) ||
		!strings.Contains(err.Error(), `line 2: its id "y" is not in the file of ids`) {
		t.Error(err)
	}
	if _, err := by("field", "task", nil); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), `has the field "task" of --group-by`) {
		t.Error(err)
	}
}

func TestWhatCannotBeRepresented(t *testing.T) {
	dir := t.TempDir()
	files := []convert.File{file("a", line{Question: "q", Answer: "a"}, line{Bad: true}),
		text("b", "{\"Question\":\"q\",\"Answer\":\"b\",\"Lost\":\"x\"}\n\n[1]\n")}
	o := options(filepath.Join(dir, "strict"), files...)
	_, err := convert.Import(t.Context(), o)
	in := (*fault.Error)(nil)
	if !errors.As(err, &in) || err.Error() != `"a.jsonl": line 2: it is bad` || !strings.Contains(fault.HintOf(in), "--lossy") {
		t.Fatal(err)
	}
	if _, err := dataset.Open(t.Context(), o.Out.URI, dataset.OpenOptions{}); err == nil {
		t.Error("a refused import left a dataset")
	}
	r, err := convert.CheckImport(t.Context(), o)
	if err != nil || r.Records != 4 || r.RefusedRecords != 2 || len(r.Losses) != 1 || r.Checks.Rows != 2 || r.Refused[1].File != "b.jsonl" ||
		r.Refused[1].Place != "line 3" {
		t.Errorf("%v %+v", err, r)
	}
	o.Lossy = true
	if r := run(t, o); r.Rows != 2 || r.RefusedRecords != 2 || r.Losses["lost: there is no place for it"] != 1 ||
		r.Message != "2 trajectories; 2 records dropped; 1 part dropped" {
		t.Errorf("%+v", r.Report)
	}
}

// Files that cannot be read are not counted as records, and a check names their
// faults once.
func TestBrokenFilesAreCounted(t *testing.T) {
	o := options(filepath.Join(t.TempDir(), "out"), text("a", "\xff\xfe{\x00"), text("b", "{}\n{\"Question\":\"\xff\"}\n"),
		file("c", line{Question: "q", Answer: "a"}))
	r, err := convert.CheckImport(t.Context(), o)
	if err != nil || r.Records != 2 || r.RefusedRecords != 0 || r.BrokenFiles != 2 || r.Complete() {
		t.Errorf("%v %+v", err, r)
	}
	if x := r.Refused[1]; x.Place != "file" || x.Reason != "line 2: the text is not UTF-8" || x.Hint != "save the file as UTF-8" {
		t.Errorf("%+v", x)
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil ||
		!strings.HasPrefix(b.String(), "2 records; 2 files not read to the end\n  a.jsonl: file: the text is UTF-16\n    hint: ") {
		t.Errorf("%v %s", err, b.String())
	}
}

func TestNothingIsSilentlyLeftOut(t *testing.T) {
	dir := t.TempDir()
	o := options(filepath.Join(dir, "unseen"), file("a", line{Question: "q", Answer: "a"}))
	o.Format.Columns, o.Fields = true, map[string]string{"question": "Qestion"}
	if _, err := convert.Import(t.Context(), o); !errors.Is(err, fault.ErrInvalid) ||
		!strings.Contains(err.Error(), `no record has the column "Qestion" of --map question=Qestion`) {
		t.Error(err)
	}
	o.Fields["question"] = "Question"
	run(t, o)
	o = options(filepath.Join(dir, "refused"), file("a", line{Bad: true}, line{Bad: true}))
	o.Lossy = true
	if _, err := convert.Import(t.Context(), o); !errors.Is(err, fault.ErrInvalid) ||
		!strings.Contains(err.Error(), "no record gives a trajectory; all 2 are refused") {
		t.Error(err)
	}
	past := -1
	o.Epoch = &past
	if _, err := convert.Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), "there is no epoch -1") {
		t.Error(err)
	}
}

// A dataset that is up to date is not read again, but its records are known.
func TestUpToDateReport(t *testing.T) {
	o := options(filepath.Join(t.TempDir(), "out"), file("a", line{Question: "q", Answer: "a"}, line{Question: "q", Answer: "b"}))
	run(t, o)
	r := run(t, o)
	text, err := json.Marshal(r)
	if err != nil || !r.UpToDate || r.Records != 2 || strings.Contains(string(text), `"lint"`) {
		t.Errorf("%v %s", err, text)
	}
}

func TestPreferencesAndLabelsOfTheSource(t *testing.T) {
	dir := t.TempDir()
	yes, no, good, bad := true, false, 1.0, 0.0
	o := options(filepath.Join(dir, "out"), file("a", line{Question: "q", Answer: "a", Other: "b"}, line{Question: "q", Answer: "c", Other: "d"},
		line{Question: "p", Answer: "e", Label: &yes, Reward: &good}, line{Question: "p", Answer: "f", Label: &no, Reward: &bad}))
	if r := run(t, o); r.Message != "6 trajectories; 2 preferences; 2 labels" {
		t.Errorf("%+v", r.Report)
	}
	all := rows[formats.Trajectory](t, o.Out.URI, "")
	pairs := rows[formats.Pair](t, o.Out.URI, schema.TablePairs)
	if p := pairs[1]; p.ChosenID != all[2].TrajectoryID || p.RejectedID != all[3].TrajectoryID || p.Prompt != `[{"role":"user","content":"q"}]` ||
		p.Chosen != `[{"role":"assistant","content":"c"}]` || p.Margin != 1 || p.GroupID != all[0].ExampleID+"@0" {
		t.Errorf("%+v", p)
	}
	if l := rows[formats.Label](t, o.Out.URI, schema.TableLabels); !l[0].Desirable || l[1].Desirable ||
		l[1].Completion != `[{"role":"assistant","content":"f"}]` {
		t.Errorf("%+v", l)
	}
}

func TestTrainLast(t *testing.T) {
	dir := t.TempDir()
	o := options(filepath.Join(dir, "out"),
		file("a", line{Question: "q", Before: "x", Answer: "a"}, line{Question: "q", Before: "x", Answer: "b"}, line{Question: "q", Before: "y", Answer: "b"}))
	o.Train = convert.TrainLast
	run(t, o)
	all := rows[formats.Trajectory](t, o.Out.URI, "")
	if all[0].Trained(1) || !all[0].Trained(3) || all[0].ExampleID != all[1].ExampleID || all[0].ExampleID == all[2].ExampleID {
		t.Errorf("%+v", all)
	}
}

func TestRedact(t *testing.T) {
	dir := t.TempDir()
	o := options(filepath.Join(dir, "out"), file("a", line{ID: "x", Question: "q", Answer: "write to ann@example.org"}))
	plain := run(t, options(filepath.Join(dir, "plain"), o.Files...))
	var err error
	if o.Redact, err = redaction.Load("rules", []byte("detectors: [email]\n")); err != nil {
		t.Fatal(err)
	}
	if r := run(t, o); r.Redacted.Found["email"] == 0 || r.Redacted.Rows != 1 || r.Identity == plain.Identity || !strings.Contains(r.Message, "redaction") {
		t.Errorf("%+v", r)
	}
	if row := rows[formats.Trajectory](t, o.Out.URI, "")[0]; strings.Contains(row.Messages[1].Content+row.Answer, "ann") {
		t.Errorf("%+v", row)
	}
}

func TestEmptySource(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	_, err := convert.Import(t.Context(), options(out, text("a", "\n")))
	if _, missing := os.Stat(out); fault.KindOf(err) != fault.Input || !strings.HasSuffix(err.Error(), ": there is no record in it") || missing == nil {
		t.Errorf("%v; %v", err, missing)
	}
	run(t, options(out, text("a", ""), text("b", `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`+"\n")))
	_, err = convert.Import(t.Context(), options(filepath.Join(t.TempDir(), "out")))
	if kind := (*fault.Error)(nil); !errors.As(err, &kind) || kind.Kind != fault.Usage {
		t.Error(err)
	}
	o := options(filepath.Join(t.TempDir(), "out"), text("a", ""))
	o.Fields = map[string]string{"questoin": "q"}
	if _, err := convert.Import(t.Context(), o); err == nil || err.(*fault.Error).Help != `did you mean "question"?` {
		t.Error(err)
	}
}

// A format reads companions of a file, and what is in them is part of the
// identity.
func TestCompanionsAreReadAndCount(t *testing.T) {
	seen := ""
	reads := format
	reads.Records = func(f importers.File, yield func(importers.Record) bool) error {
		for _, c := range f.Companions {
			data, err := c.Read()
			if err != nil {
				t.Error(err)
			}
			seen += c.Name + "=" + string(data)
		}
		return importers.Rows(f, yield)
	}
	out := t.TempDir() + "/out"
	with := func(scores string) convert.ImportOptions {
		f := file("eval/a", line{Question: "q", Answer: "x"})
		f.Companions = []convert.File{text("eval/scores", scores)}
		o := options(out, f)
		o.Format = reads
		return o
	}
	run(t, with("1"))
	if seen != "scores=1" {
		t.Errorf("it read %q", seen)
	}
	if r := run(t, with("1")); !r.UpToDate {
		t.Error("the same files are imported again")
	}
	if _, err := convert.Import(t.Context(), with("2")); err == nil {
		t.Error("other scores are taken for the same import")
	}
}

// TestLargeGroupsAreWrittenInPieces: a group that is not held as a whole has its rows in order, its ids and its pairs,
// and one row group.
func TestLargeGroupsAreWrittenInPieces(t *testing.T) {
	const n = 300
	lines := []line{{Example: "before", Question: "q", Answer: "a"}}
	answer := func(i int, what string) string {
		return fmt.Sprint(what, i, strings.Repeat(fmt.Sprint(i, " and more, "), 5000))
	}
	for i := range n {
		lines = append(lines, line{ID: fmt.Sprint(i % 100), Example: "large", Question: fmt.Sprint("q", i/250), Attempt: new(int64(n - i)),
			Answer: answer(i, "good"), Other: answer(i, "bad")})
	}
	lines = append(lines, line{Example: "after", Question: "q", Answer: "a"}, line{Example: "after", Question: "q", Answer: "b"})
	uri := filepath.Join(t.TempDir(), "out")
	if r := run(t, options(uri, file("a", lines...))); r.Facts[formats.FactMixedPrompts] != 1 || r.Rows != 2*n+3 {
		t.Errorf("%v, %d rows", r.Facts, r.Rows)
	}
	all, ids := rows[formats.Trajectory](t, uri, ""), map[string]bool{}
	for k := range all[1 : 2*n+1] {
		row := &all[1+k]
		what := []string{"good", "bad"}[k%2]
		if want := answer(n-1-k/2, what); row.Generation != int32(k) || row.Messages[1].Content != want || ids[row.TrajectoryID] {
			t.Fatalf("row %d is the %d-th, %.20s, want %.20s", k, row.Generation, row.Messages[1].Content, want)
		}
		ids[row.TrajectoryID] = true
	}
	for k, p := range rows[formats.Pair](t, uri, schema.TablePairs) {
		if p.ChosenID != all[1+2*k].TrajectoryID || p.RejectedID != all[2+2*k].TrajectoryID {
			t.Fatalf("pair %d is of %s and %s", k, p.ChosenID, p.RejectedID)
		}
	}
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil || len(d.Parts) != 1 || !slices.Equal(d.Parts[0].RowGroups, []int64{1, 2 * n, 2}) {
		t.Errorf("%v, row groups %v", err, d.Parts[0].RowGroups)
	}
}
