package convert_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	own "github.com/rollmill/rollmill/formats/foreign/rows"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// callLines returns rows that are single calls of attempts at a few tasks, with tools; form names the reader.
func callLines(form string, attempts int) (lines []string) {
	r := rand.New(rand.NewPCG(7, 7))
	type object = map[string]any
	tools := []object{{"type": "function", "function": object{"name": "f", "parameters": object{"type": "object"}}}}
	for a := range attempts {
		messages := []object{{"role": "system", "content": "You act."}, {"role": "user", "content": fmt.Sprint("task ", a/4)}}
		for k := range 1 + r.IntN(5) {
			id := fmt.Sprintf("c%d-%d", a, k)
			answer := object{"role": "assistant", "content": fmt.Sprint("answer ", r.IntN(3), " of ", a/2), "tool_calls": []object{
				{"id": id, "type": "function", "function": object{"name": "f", "arguments": fmt.Sprintf(`{"k": %d, "a": 1}`, k)}}}}
			row := object{"id": id, "session": fmt.Sprint("s", a), "messages": append(messages[:len(messages):len(messages)], answer),
				"reward": a % 2, "step": k}
			if form == "chat" {
				row["tools"] = tools
			} else {
				row = object{"trajectory_id": id, "messages": row["messages"], "metadata": object{"session": row["session"]}, "reward": a % 2,
					"tools": tools, "started_at": at(a, k, 0), "finished_at": at(a, k, 5)}
			}
			line, _ := json.Marshal(row)
			lines = append(lines, string(line))
			again := object{"role": "assistant", "content": answer["content"], "tool_calls": []object{
				{"id": id, "type": "function", "function": object{"name": "f", "arguments": fmt.Sprintf(`{"a":1,"k":%d}`, k)}}}}
			messages = append(messages, again, object{"role": "tool", "tool_call_id": id, "content": fmt.Sprint("result ", k)})
		}
	}
	return lines
}

func at(attempt, call, second int) string {
	return time.Date(2026, 11, 1, 0, attempt, call*10+second, 0, time.UTC).Format(time.RFC3339)
}

// split cuts lines into files.
func split(lines []string, n int) (files []convert.File) {
	for i := range n {
		files = append(files, text(fmt.Sprintf("part-%d", i), strings.Join(lines[i*len(lines)/n:(i+1)*len(lines)/n], "\n")+"\n"))
	}
	return files
}

var merges = map[string]importers.Format{"chat": chat.Importer, "rows": own.Importer}

// TestCallsMergeAlikeInAnyOrder: the same calls give the same rows, in any order and from any number of files.
func TestCallsMergeAlikeInAnyOrder(t *testing.T) {
	for name, format := range merges {
		for _, by := range []string{"", "session"} {
			lines, want := callLines(name, 24), ""
			var first []formats.Trajectory
			for n := range 6 {
				o := options(fmt.Sprintf("mem://merge-%s-%s-%d", name, by, n), split(lines, 1+n%4)...)
				o.Format, o.Merge, o.MergeBy = format, convert.MergeCalls, by
				o.Spill.Memory = 1 << (10 + 4*(n%4))
				r := run(t, o)
				got := rows[formats.Trajectory](t, o.Out.URI, "")
				if n == 0 {
					want, first = r.RowsDigest, got
				}
				if r.RowsDigest != want || want == "" {
					t.Fatalf("%s by %q, order %d: rows_digest %s, want %s\n%s", name, by, n, r.RowsDigest, want, cmp.Diff(first, got))
				}
				if r.Merged == nil || r.Merged.Calls != int64(len(lines)) || r.Merged.Gaps+r.Merged.Copies != 0 || r.Facts["merged_calls"] != float64(len(lines)) {
					t.Errorf("%s by %q: %+v", name, by, r.Merged)
				}
				if by != "" && (len(got) != 24 || r.Merged.Ambiguous != 0) {
					t.Errorf("%s: %d rows, %+v", name, len(got), r.Merged)
				}
				for _, x := range got {
					if x.FailureClass == "" && (len(x.ToolSets) != 1 || x.Calls[0].Tools != 0 || x.Messages[2].Call != 0 && x.Messages[2].Sampled) {
						t.Errorf("%s by %q: %+v", name, by, x)
					}
				}
				rand.New(rand.NewPCG(uint64(n), 0)).Shuffle(len(lines), func(i, k int) { lines[i], lines[k] = lines[k], lines[i] })
			}
		}
	}
}

// TestMergedShardsGiveTheRowsOfOne, which needs the field of an attempt.
func TestMergedShardsGiveTheRowsOfOne(t *testing.T) {
	o := options("mem://merge-whole", split(callLines("rows", 40), 3)...)
	o.Format, o.Merge, o.MergeBy = own.Importer, convert.MergeCalls, "session"
	want := run(t, o)
	o.Out.URI = "mem://merge-shards"
	var got convert.ImportReport
	for i := range 3 {
		o.Out.Shard = stages.Shard{Index: i, Count: 3}
		got = run(t, o)
	}
	for _, fact := range []string{"merged_calls", "merged_copies", "merged_ambiguous", "merged_gaps", "calls", "records"} {
		if got.Facts[fact] != want.Facts[fact] {
			t.Errorf("%s: %v, want %v", fact, got.Facts[fact], want.Facts[fact])
		}
	}
	if !got.Sealed || got.Rows != want.Rows || got.RowsDigest != want.RowsDigest {
		t.Errorf("%d rows with digest %s, want %d with %s", got.Rows, got.RowsDigest, want.Rows, want.RowsDigest)
	}
	o.MergeBy = ""
	if _, err := convert.Import(t.Context(), o); fault.KindOf(err) != fault.Usage {
		t.Errorf("without a field: %v", err)
	}
}

// TestRowsThatAreNoCalls are refused with their file and line, or dropped and counted.
func TestRowsThatAreNoCalls(t *testing.T) {
	const good = `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"session":"s"}` + "\n"
	for row, want := range map[string]string{
		`{"messages":[{"role":"user","content":"q"}],"session":"s"}`:                                                                             "ends with a message of the user",
		`{"messages":[],"session":"s"}`:                                                                                                          "has no messages",
		`{"prompt":"q","chosen":"a","rejected":"b","session":"s"}`:                                                                               "is a preference",
		`{"prompt":"q","completion":"a","label":true,"session":"s"}`:                                                                             "has a label",
		`{"prompt":"q","completions":["a","b"],"labels":[true,false],"session":"s"}`:                                                             "shaped rewards",
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`:                                                        `has the field "session" of --merge-by`,
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","weight":0},{"role":"tool","content":"r"}],"session":"s"}`: "message of the tool",
	} {
		o := options("mem://merge-bad", text("file", good+row+"\n"))
		o.Format, o.Merge, o.MergeBy, o.Out.Overwrite = chat.Importer, convert.MergeCalls, "session", true
		if _, err := convert.Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"file.jsonl": line 2`) {
			t.Errorf("%s: %v", row, err)
		}
		o.Lossy = true
		r := run(t, o)
		if r.RefusedRecords+r.Merged.Calls != 2 {
			t.Errorf("%s: %d refused, %d calls", row, r.RefusedRecords, r.Merged.Calls)
		}
		c, err := convert.CheckImport(t.Context(), o)
		if err != nil || c.RefusedRecords != r.RefusedRecords || c.Merged == nil || c.Merged.Calls != r.Merged.Calls {
			t.Errorf("%s: the check finds %+v, %v", row, c, err)
		}
	}
	branched := `{"messages":[{"role":"user","content":"q","parent":-1},{"role":"assistant","content":"a","parent":0},{"role":"assistant","content":"b","parent":0},` +
		`{"role":"user","content":"r","parent":2},{"role":"assistant","content":"c","parent":3}]}`
	o := options("mem://merge-branched", text("file", branched+"\n"))
	o.Format, o.Merge = own.Importer, convert.MergeCalls
	if _, err := convert.Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), "does not follow the one before it") {
		t.Error(err)
	}
}

// TestMergeByIsAValue: values of different types are different, whatever escapes or space a text has.
func TestMergeByIsAValue(t *testing.T) {
	var lines strings.Builder
	for k, session := range []string{`5`, `"5"`, `"\u0035"`, `[1,"a"]`, `[1, "a"]`, `true`, `"true"`} {
		fmt.Fprintf(&lines, `{"messages":[{"role":"user","content":"q%d"},{"role":"assistant","content":"a"}],"session":%s}`+"\n", k, session)
	}
	o := options("mem://merge-values", text("file", lines.String()))
	o.Format, o.Merge, o.MergeBy = chat.Importer, convert.MergeCalls, "session"
	if r := run(t, o); r.Merged.Conversations != 5 || r.Merged.Calls != 7 {
		t.Errorf("%+v", r.Merged)
	}
}

// TestMergedExamples: the first prompt with its tools is the example, unless the source or a field names it.
func TestMergedExamples(t *testing.T) {
	tool := `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
	row := func(more string) string {
		return `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]` + more + "}\n"
	}
	for name, c := range map[string]struct {
		groupBy, lines string
		want           int
	}{
		"one prompt":        {"id", row(`,"id":"1"`) + row(`,"id":"2"`), 1},
		"with tools":        {"id", row(`,"id":"1"`) + row(`,"id":"2"`+tool), 2},
		"a field":           {"n", row(`,"id":"1","n":1`) + row(`,"id":"2","n":2`), 2},
		"the source's":      {"id", row(`,"id":"1","example_id":"e"`) + row(`,"id":"2","example_id":"e"`+tool), 1},
		"the prompt anyway": {"prompt", row(`,"id":"1","example_id":"e"`) + row(`,"id":"2","example_id":"e"`+tool), 2},
	} {
		o := options("mem://examples-"+strings.ReplaceAll(name, " ", "-"), text("file", c.lines))
		o.Format, o.Merge, o.GroupBy = chat.Importer, convert.MergeCalls, c.groupBy
		run(t, o)
		examples := map[string]bool{}
		for _, x := range rows[formats.Trajectory](t, o.Out.URI, "") {
			examples[x.ExampleID] = true
		}
		if len(examples) != c.want {
			t.Errorf("%s: %v", name, examples)
		}
	}
}
