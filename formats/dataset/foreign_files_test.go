package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/arrow/arrowtest"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

var (
	text    = arrow.BinaryTypes.String
	roles   = message()
	minimum = []arrow.Field{column("trajectory_id", text), column("example_id", text), column("messages", arrow.ListOf(roles))}
)

func column(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// message returns the type of a message with more fields than role and content.
func message(more ...arrow.Field) *arrow.StructType {
	return arrow.StructOf(append([]arrow.Field{column("role", text), column("content", text)}, more...)...)
}

const minimalRows = `[
	{"trajectory_id": "a", "example_id": "x", "messages": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}]},
	{"trajectory_id": "b", "example_id": "y", "messages": [{"role": "assistant", "content": "hm"}, {"role": "user", "content": "?"}]},
	{"trajectory_id": "c", "example_id": "x", "messages": []}]`

// filed writes a file with arrow-go.
func filed(t testing.TB, uri string, fields []arrow.Field, rows string) {
	t.Helper()
	data, err := arrowtest.File(fields, rows)
	if err != nil {
		t.Fatal(err)
	}
	stored(t, uri, data)
}

func stored(t testing.TB, uri string, data []byte) {
	t.Helper()
	folder, name := storage.Split(uri)
	b, err := storage.Open(context.Background(), folder)
	if err == nil {
		err = b.Write(context.Background(), name, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The minimum is enough: what is missing has the documented values.
func TestPlainMinimum(t *testing.T) {
	folder := t.TempDir()
	filed(t, folder+"/1.parquet", minimum, minimalRows)
	filed(t, folder+"/2.parquet", minimum, strings.ReplaceAll(minimalRows, `_id": "`, `_id": "2`))
	d := opened(t, folder+"/*.parquet")
	rows, err := dataset.ReadAll[formats.Trajectory](context.Background(), d, "", d.All())
	if err != nil || len(rows) != 6 || d.Rows != 6 {
		t.Fatal(len(rows), err)
	}
	want := formats.Trajectory{TrajectoryID: "a", ExampleID: "x", Status: "ok", StopReason: "done", Answer: "2", Example: "{}",
		Messages: []formats.Message{{Parent: -1, Role: "user", Content: "1+1?", Call: -1}, {Parent: 0, Role: "assistant", Content: "2", Sampled: true}},
		Calls:    []formats.Call{{Sampling: "{}", Tools: -1, Target: true}}, Candidates: []formats.Candidate{}}
	if diff := cmp.Diff(want, rows[0]); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprint(r.TrajectoryID, " ", r.ExampleID, r.Generation, " ", r.Answer))
	}
	if diff := cmp.Diff([]string{"a x0 2", "b y0 hm", "c x1 ", "2a 2x0 2", "2b 2y0 hm", "2c 2x1 "}, got); diff != "" {
		t.Error(diff)
	}
	if one := opened(t, folder+"/1.parquet"); one.Rows != 3 || one.Ref("", "").Digest == d.Ref("", "").Digest {
		t.Error(one.Rows, one.Ref("", ""))
	}
}

// A few columns are what they are in whole rows, also when they are computed.
func TestPlainColumns(t *testing.T) {
	folder := t.TempDir()
	filed(t, folder+"/1.parquet", minimum, minimalRows)
	d, ctx := opened(t, folder+"/*.parquet"), context.Background()
	type some struct {
		Answer   string `parquet:"answer,optional"`
		Messages []struct {
			Role    string `parquet:"role"`
			Sampled bool   `parquet:"sampled"`
		} `parquet:"messages"`
		Generation int32 `parquet:"generation"`
	}
	rows, err := dataset.ReadAll[some](ctx, d, "", dataset.Range{First: 1, Rows: 2})
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	if r := rows[0]; r.Answer != "hm" || len(r.Messages) != 2 || !r.Messages[0].Sampled || r.Messages[1].Role != "user" || rows[1].Generation != 1 {
		t.Errorf("%+v", rows)
	}
	h, err := dataset.NewHeadReader[formats.Trajectory](ctx, d, d.All())
	if err != nil {
		t.Fatal(err)
	}
	heads := make([]formats.Trajectory, 3)
	if n, err := h.Read(heads); n != 3 || err != nil || heads[0].Answer != "2" {
		t.Error(n, err, heads[0])
	}
	c, err := dataset.NewColumnReader(ctx, d, "", d.All(), []string{"status", "trajectory_id"})
	if err != nil {
		t.Fatal(err)
	}
	named := make([]reflect.Value, 3)
	if n, err := c.Read(named); n != 3 || err != nil || fmt.Sprint(named[2]) != "{ok c}" {
		t.Error(n, err, named[2])
	}
	if _, err := dataset.ReadAll[formats.Score](ctx, d, "", d.All()); err != nil {
		t.Error(err)
	}
	type other struct {
		X int32 `parquet:"first_row"`
	}
	_, err = dataset.ReadAll[other](ctx, d, "", d.All())
	invalid(t, err, "has no column first_row")
}

// The types that tools choose for our columns are read exactly, or refused with
// the column and the type.
func TestPlainTypes(t *testing.T) {
	for _, test := range []struct {
		name, path string // of the column
		typ        arrow.DataType
		value      string // JSON of one row
		want       any    // or an error's text
	}{
		{"int64", "epoch", arrow.PrimitiveTypes.Int64, `7`, int32(7)},
		{"uint8", "epoch", arrow.PrimitiveTypes.Uint8, `200`, int32(200)},
		{"uint32", "epoch", arrow.PrimitiveTypes.Uint32, `7`, int32(7)},
		{"wide uint32", "epoch", arrow.PrimitiveTypes.Uint32, `4000000000`,
			"row 0: column epoch: 4000000000 does not fit into 32 bits"},
		{"wide int64", "epoch", arrow.PrimitiveTypes.Int64, `4000000000`, "does not fit into 32 bits"},
		{"wide uint64", "policy_version", arrow.PrimitiveTypes.Uint64, `18446744073709551615`, "does not fit into 64 bits"},
		{"float for integer", "epoch", arrow.PrimitiveTypes.Float64, `7`, "column epoch is DOUBLE, not an integer"},
		{"date for integer", "epoch", arrow.FixedWidthTypes.Date32, `"2026-01-02"`, "column epoch is DATE"},
		{"decimal for integer", "epoch", &arrow.Decimal128Type{Precision: 5, Scale: 1}, `"7.0"`, "column epoch is DECIMAL"},
		{"int16", "policy_version", arrow.PrimitiveTypes.Int16, `-3`, int64(-3)},
		{"integer reward", "reward", arrow.PrimitiveTypes.Int64, `1`, 1.0},
		{"long integer reward", "reward", arrow.PrimitiveTypes.Int64, `9007199254740993`, "has more digits than a float holds"},
		{"float reward", "reward", arrow.PrimitiveTypes.Float32, `0.5`, 0.5},
		{"decimal reward", "reward", &arrow.Decimal128Type{Precision: 12, Scale: 3}, `"-0.125"`, -0.125},
		{"wide decimal reward", "reward", &arrow.Decimal128Type{Precision: 30, Scale: 3}, `"0.125"`, "column reward is DECIMAL"},
		{"half float reward", "reward", arrow.FixedWidthTypes.Float16, `0.5`, "column reward is FLOAT16"},
		{"boolean reward", "reward", arrow.FixedWidthTypes.Boolean, `true`, "column reward is BOOLEAN, not a number"},
		{"nulls", "reward", arrow.Null, `null`, nil},
		{"large string", "answer", arrow.BinaryTypes.LargeString, `"yes"`, "yes"},
		{"dictionary", "answer", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: text}, `"yes"`, "yes"},
		{"binary", "answer", arrow.BinaryTypes.Binary, `"eWVz"`, "column answer is BYTE_ARRAY, not a string"},
		{"struct for text", "answer", arrow.StructOf(column("x", text)), `{"x": "y"}`, "column answer is a group of columns, not a string"},
		{"list for text", "answer", arrow.ListOf(text), `["y"]`, "column answer is LIST, not a string"},
		{"milliseconds", "started_at", &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, `"1970-01-01T00:00:02Z"`, int64(2000000)},
		{"nanoseconds", "started_at", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, `"1970-01-01T00:00:02Z"`, int64(2000000)},
		{"no time zone", "started_at", &arrow.TimestampType{Unit: arrow.Microsecond}, `"1970-01-01 00:00:02"`, int64(2000000)},
		{"number for a time", "started_at", arrow.PrimitiveTypes.Int64, `2`, "column started_at is INT(64,true) of INT64, not a timestamp"},
		{"time for a number", "policy_version", &arrow.TimestampType{Unit: arrow.Microsecond}, `"1970-01-01 00:00:02"`, "column policy_version is TIMESTAMP"},
		{"list of decimals", "shaped_rewards", arrow.ListOf(&arrow.Decimal128Type{Precision: 5, Scale: 1}), `["0.5", "1.5"]`, []float64{0.5, 1.5}},
		{"large list", "tool_sets", arrow.LargeListOf(text), `["[]"]`, []string{"[]"}},
		{"null in a list", "tool_sets", arrow.ListOf(text), `["[]", null]`, "a list has an element that is null"},
		{"null in a list of numbers", "shaped_rewards", arrow.ListOf(arrow.PrimitiveTypes.Float64), `[1, null]`, "a list has an element that is null"},
		{"list of nulls", "shaped_rewards", arrow.ListOf(arrow.Null), `[]`, []float64(nil)},
		{"text for a list", "tool_sets", text, `"[]"`, "column tool_sets is BYTE_ARRAY, not a list"},
		{"map for a list", "shaped_rewards", arrow.MapOf(text, arrow.PrimitiveTypes.Float64), `[{"key": "a", "value": 1}]`, "not a list"},
		{"state", "status", text, `"completed"`, `unknown status "completed"; use one of ok, truncated, failed, skipped`},
		{"no state", "status", text, `null`, "ok"},
		{"no generation", "generation", arrow.PrimitiveTypes.Int32, `null`, "generation is null"},
		{"no id", "trajectory_id", text, `null`, "trajectory_id is null or empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fields := append([]arrow.Field{column(test.path, test.typ)}, minimum...)
			if test.path == "trajectory_id" {
				fields = minimum
			}
			rows := fmt.Sprintf(`[{"example_id": "x", "messages": [], %q: %s}]`, test.path, test.value)
			if test.path != "trajectory_id" {
				rows = strings.Replace(rows, "{", `{"trajectory_id": "a", `, 1)
			}
			folder := t.TempDir()
			filed(t, folder+"/1.parquet", fields, rows)
			got, err := plainRead(folder + "/*.parquet")
			if says, is := test.want.(string); is && (err != nil || strings.Contains(says, " ")) {
				invalid(t, err, says, "1.parquet")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			row := reflect.ValueOf(got[0])
			for _, f := range schema.FieldsOf(row.Type()) {
				if f.Name != test.path {
					continue
				}
				v := row.FieldByIndex(reflect.VisibleFields(row.Type())[fieldAt(row.Type(), f.Offset)].Index)
				if v.Kind() == reflect.Pointer && !v.IsNil() {
					v = v.Elem()
				}
				if v.Kind() == reflect.Pointer {
					if test.want != nil {
						t.Errorf("null, want %v", test.want)
					}
				} else if diff := cmp.Diff(test.want, v.Interface()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func fieldAt(t reflect.Type, off uintptr) int {
	for i, f := range reflect.VisibleFields(t) {
		if f.Offset == off {
			return i
		}
	}
	return -1
}

func plainRead(uri string) ([]formats.Trajectory, error) {
	d, err := dataset.Open(context.Background(), uri, dataset.OpenOptions{})
	if err != nil {
		return nil, err
	}
	return dataset.ReadAll[formats.Trajectory](context.Background(), d, "", d.All())
}

// Numbers within messages are converted as those of rows.
func TestPlainTokens(t *testing.T) {
	fields := []arrow.Field{minimum[0], minimum[1], column("messages", arrow.ListOf(message(
		column("token_ids", arrow.ListOfField(column("item", arrow.PrimitiveTypes.Int64))),
		column("logprobs", arrow.LargeListOf(arrow.PrimitiveTypes.Float64)), column("parent", arrow.PrimitiveTypes.Int64))))}
	row := func(tokens string) string {
		return `[{"trajectory_id": "a", "example_id": "x", "messages": [{"role": "user"},
			{"role": "assistant", "token_ids": ` + tokens + `, "logprobs": [-0.1, -1e-300], "parent": 0}, {"role": "user"}, {"role": "assistant", "token_ids": [], "parent": 0}]}]`
	}
	folder := t.TempDir()
	filed(t, folder+"/1.parquet", fields, row("[5, 6]"))
	rows, err := plainRead(folder + "/1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	m := rows[0].Messages
	if !reflect.DeepEqual(m[1].TokenIDs, []int32{5, 6}) || !reflect.DeepEqual(m[1].Logprobs, []float32{-0.1, 0}) || m[2].Parent != 1 || m[3].Parent != 0 ||
		rows[0].SampledTokens != 2 {
		t.Errorf("%+v, %d tokens", m, rows[0].SampledTokens)
	}
	for tokens, says := range map[string]string{"[5, 5000000000]": "column messages.token_ids: 5000000000 does not fit into 32 bits", "[5, null]": "element that is null",
		"[null, 5]": "element that is null"} {
		filed(t, folder+"/1.parquet", fields, row(tokens))
		_, err := plainRead(folder + "/1.parquet")
		invalid(t, err, says)
	}
}

// One error names all columns that are missing, and those with a similar name.
func TestPlainMissing(t *testing.T) {
	folder := t.TempDir()
	calls := arrow.ListOf(arrow.StructOf(column("id", text), column("function", arrow.StructOf(column("name", text), column("arguments", text)))))
	fields := []arrow.Field{column("trajectoryid", text), column("prompt", text),
		column("messages", arrow.ListOf(arrow.StructOf(column("content", text), column("tool_calls", calls))))}
	filed(t, folder+"/1.parquet", fields, `[]`)
	_, err := dataset.Open(context.Background(), folder+"/*.parquet", dataset.OpenOptions{})
	invalid(t, err, "1.parquet", "lacks 5 columns", `trajectory_id (an id that no other row has), the nearest is "trajectoryid"`, "example_id (",
		"messages.role (", `messages.tool_calls.name (the tool's name), the nearest is "messages.tool_calls`, "messages.tool_calls.arguments (")
	fields = append([]arrow.Field{column("messages", text)}, minimum[:2]...)
	filed(t, folder+"/1.parquet", fields, `[]`)
	_, err = dataset.Open(context.Background(), folder+"/*.parquet", dataset.OpenOptions{})
	invalid(t, err, "column messages is BYTE_ARRAY, not a list")
	filed(t, folder+"/1.parquet", append(minimum[:3:3], minimum[1]), `[]`)
	_, err = dataset.Open(context.Background(), folder+"/*.parquet", dataset.OpenOptions{})
	invalid(t, err, "has two columns named example_id")
}

// Rows whose messages contradict each other are refused with the row.
func TestPlainConversations(t *testing.T) {
	fields := []arrow.Field{minimum[0], minimum[1],
		column("messages", arrow.ListOf(message(column("parent", arrow.PrimitiveTypes.Int32), column("call", arrow.PrimitiveTypes.Int32))))}
	for messages, says := range map[string]string{
		`[{"role": "user", "parent": 0}]`:                    "messages.parent is 0 in message 0",
		`[{"role": "user", "parent": -2}]`:                   "messages.parent is -2",
		`[{"role": "user", "call": 0}]`:                      "messages.call is 0 in message 0, and there are 0 calls",
		`[{"content": "x"}]`:                                 "messages.role is null or empty in message 0",
		`[{"role": "user"}, null]`:                           "messages.role is null or empty in message 1",
		`[{"role": "user"}, {"role": "user", "parent": -1}]`: "",
	} {
		folder := t.TempDir()
		filed(t, folder+"/1.parquet", fields,
			`[{"trajectory_id": "a", "example_id": "x", "messages": []}, {"trajectory_id": "b", "example_id": "x", "messages": `+messages+`}]`)
		_, err := plainRead(folder + "/1.parquet")
		if says == "" && err == nil {
			continue
		}
		invalid(t, err, says, "row 1")
	}
}

// Files that do not go together, or are damaged, are named.
func TestPlainDamage(t *testing.T) {
	ctx := context.Background()
	folder := t.TempDir()
	_, err := dataset.Open(ctx, folder+"/*.parquet", dataset.OpenOptions{})
	invalid(t, err, "no file has such a name")
	if !errors.Is(err, storage.ErrNotExist) {
		t.Error(err)
	}
	_, err = dataset.Open(ctx, folder+"/*/a.parquet", dataset.OpenOptions{})
	if err == nil {
		t.Error("a folder of any name was read")
	}
	_, err = dataset.Open(ctx, folder+"/*/*.parquet", dataset.OpenOptions{})
	invalid(t, err, "last part")
	whole, err := arrowtest.File(minimum, minimalRows)
	if err != nil {
		t.Fatal(err)
	}
	stored(t, folder+"/1.parquet", whole)
	_, err = dataset.Open(ctx, folder, dataset.OpenOptions{})
	invalid(t, err, "no dataset")
	if fault.HintOf(err) == "" || !strings.Contains(fault.HintOf(err), "'"+folder+"/*.parquet'") {
		t.Error(err)
	}
	stored(t, folder+"/2.parquet", whole[:len(whole)/2])
	_, err = dataset.Open(ctx, folder+"/*.parquet", dataset.OpenOptions{})
	invalid(t, err, "2.parquet", "truncated")
	filed(t, folder+"/2.parquet", append(minimum[:3:3], column("generation", arrow.PrimitiveTypes.Int64)), `[]`)
	_, err = dataset.Open(ctx, folder+"/*.parquet", dataset.OpenOptions{})
	invalid(t, err, "2.parquet", "generation")
	filed(t, folder+"/2.parquet", append(minimum[:3:3], column("reward", arrow.PrimitiveTypes.Int64)), `[]`)
	if _, err = dataset.Open(ctx, folder+"/*.parquet", dataset.OpenOptions{}); err != nil {
		t.Error(err)
	}
	filed(t, folder+"/2.parquet", append(minimum[:3:3], column("reward", text)), `[]`)
	_, err = dataset.Open(ctx, folder+"/*.parquet", dataset.OpenOptions{})
	invalid(t, err, "2.parquet", "column reward is STRING of BYTE_ARRAY, not a number")
	at := t.TempDir() + "/d"
	shard, err := shards.Begin(ctx, at, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, shards.Options{})
	check(t, err)
	shards.NewTable[formats.Trajectory](shard, "", -1) // a part without rows
	_, err = shard.Commit(ctx, shards.Outcome{})
	check(t, err)
	_, err = dataset.Open(ctx, at+"/*.parquet", dataset.OpenOptions{})
	invalid(t, err, "parts of a dataset")
}

// A thin dataset notices which of its base's files changed.
func TestPlainBaseChanged(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	files := func() {
		filed(t, root+"/1.parquet", minimum, minimalRows)
		filed(t, root+"/2.parquet", minimum, minimalRows)
	}
	files()
	base := opened(t, root+"/*.parquet")
	ref := base.Ref("base", root+"/thin")
	s, err := shards.Begin(ctx, root+"/thin", manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Inputs: []manifest.Ref{ref}, Base: &ref}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := shards.NewTable[formats.Score](s, "", 0)
	if err := w.Write(ctx, make([]formats.Score, 6)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	thin := opened(t, root+"/thin")
	if thin.Base.URI != "../*.parquet" {
		t.Error(thin.Base.URI)
	}
	if same, err := thin.OpenBase(ctx); err != nil || same.Rows != 6 || !same.Is(thin.Base) {
		t.Fatal(err)
	}
	b, err := storage.Open(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(){
		`file "2.parquet" is gone`:   func() { _ = b.Delete(ctx, "2.parquet") },
		`file "3.parquet" was added`: func() { filed(t, root+"/3.parquet", minimum, minimalRows) },
		`file "1.parquet" has `:      func() { filed(t, root+"/1.parquet", minimum, `[]`) },
		`file "1.parquet" was written again`: func() {
			filed(t, root+"/1.parquet", minimum, strings.ReplaceAll(minimalRows, `"y"`, `"z"`))
		},
	} {
		change()
		_, err := thin.OpenBase(ctx)
		invalid(t, err, "*.parquet", "changed since", says)
		_ = b.Delete(ctx, "3.parquet")
		files()
	}
	if _, err := thin.OpenBase(ctx); err != nil {
		t.Error(err)
	}
}

// To open costs one listing, and one read for each small file.
func TestPlainRequests(t *testing.T) {
	root := fmt.Sprintf("mem://%s-%d", t.Name(), stores.Add(1)) + "/d"
	for i := range 5 {
		filed(t, fmt.Sprintf("%s/%d.parquet", root, i), minimum, minimalRows)
	}
	counts := make(chan string, 100)
	ctx := storage.Wrapping(context.Background(), func(b *storage.Bucket) *storage.Bucket {
		return b.WithHook(func(op, key string) error { counts <- op; return nil })
	})
	if _, err := dataset.Open(ctx, root+"/*.parquet", dataset.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	close(counts)
	got := map[string]int{}
	for op := range counts {
		got[op]++
	}
	if got["list"] != 1 || got["range"] != 5 || got["read"] != 0 {
		t.Error(got)
	}
}

// Whatever a file contains, it gives as many rows as its footer counts, or an
// error that says that it is the file's fault.
func FuzzPlain(f *testing.F) {
	more := []arrow.Field{column("reward", &arrow.Decimal128Type{Precision: 12, Scale: 3}), column("epoch", arrow.PrimitiveTypes.Uint64),
		column("started_at", &arrow.TimestampType{Unit: arrow.Millisecond})}
	deep := column("messages",
		arrow.ListOf(message(column("token_ids", arrow.ListOf(arrow.PrimitiveTypes.Int64)), column("logprobs", arrow.ListOf(arrow.PrimitiveTypes.Float64)))))
	for _, fields := range [][]arrow.Field{minimum, append(minimum[:3:3], more...), {minimum[0], minimum[1], deep}} {
		data, err := arrowtest.File(fields, minimalRows)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, data []byte) {
		root := fmt.Sprintf("mem://%s-%d", t.Name(), stores.Add(1)) + "/d"
		stored(t, root+"/1.parquet", data)
		d, err := dataset.Open(ctx, root+"/*.parquet", dataset.OpenOptions{})
		if err == nil {
			var rows []formats.Trajectory
			if rows, err = dataset.ReadAll[formats.Trajectory](ctx, d, "", d.All()); err == nil && int64(len(rows)) != d.Rows {
				t.Fatalf("%d rows of %d", len(rows), d.Rows)
			}
		}
		if err != nil && !errors.Is(err, fault.ErrInvalid) {
			t.Fatal(err)
		}
	})
}

func invalid(t *testing.T, err error, says ...string) {
	t.Helper()
	if !errors.Is(err, fault.ErrInvalid) {
		t.Fatalf("not an input error: %v", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}
