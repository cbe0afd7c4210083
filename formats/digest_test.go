package formats

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
)

// full is a row with something in every field, so that each can be changed.
func full() *Trajectory {
	f := func(v float64) *float64 { return &v }
	i := func(v int64) *int64 { return &v }
	t := &Trajectory{
		TrajectoryID: "t", Run: "r", ExampleID: "e", Epoch: 1, Generation: 2, ForkedFrom: "o", ForkCall: new(int32(3)), Example: `{"id":"e"}`,
		Messages: []Message{{Parent: -1, Role: "assistant", Content: "c", ContentParts: "[]", Name: "n", Reasoning: "r", ToolCallID: "i",
			ToolCalls: []ToolCall{{ID: "i", Name: "n", Arguments: "{}"}}, Sampled: true, FinishReason: "stop", Call: 0, Branch: "b",
			TokenIDs: []int32{1, 2}, Logprobs: []float32{-1, -2}, TokenTexts: []string{"a", "b"}, PromptDeltaIDs: []int32{3}, PrefixBreak: "p"}},
		Calls: []Call{{Model: "m", PolicyVersion: i(3), Sampling: "{}", Tools: 0, PromptTokens: 1, CompletionTokens: 2, CachedTokens: 1,
			Target: true, Function: "f", Error: "e", Endpoint: "u", LatencyMS: 5, Attempts: 1, Repeated: true, Replayed: true}},
		ToolSets: []string{"[]"},
		Candidates: []Candidate{{Message: 0, Turn: "t", Content: "c", Score: f(1), Metadata: "{}", Reason: outcomes.CandidateRetried, Reasoning: "r",
			ToolCalls: []ToolCall{{ID: "i", Name: "n", Arguments: "{}"}}, FinishReason: "stop", Call: new(int32),
			TokenIDs: []int32{1}, Logprobs: []float32{-1}, TokenTexts: []string{"a"}}},
		Artifacts: []Artifact{{Name: "/logs/a", Bytes: 1, Content: "c"}},
		Answer:    "a", Status: outcomes.StatusOK, StopReason: outcomes.StopDone, FailureClass: "x", Error: "e", Model: "m", PolicyVersion: i(3), TokenSource: "s",
		PromptTokens: 1, CompletionTokens: 2, SampledTokens: 2, Reward: f(1),
		Rewards:       []NamedReward{{Name: "n", Value: f(1), Weight: 1, Failure: "f", Error: "e"}},
		ShapedRewards: []float64{1}, GroupID: "g", Advantage: f(0.5), Advantages: []training.MessageAdvantage{{Message: 1, Value: 1, Tokens: []float32{1}}},
		Losses: []training.MessageLoss{{Message: 1, Loss: training.LossRefKL, Weight: 1, Reference: []float32{-1}}}, Attempts: 1, Diverged: "tool", StartedAt: 1, FinishedAt: 2, Metadata: "{}",
	}
	t.SetPayloadDigest()
	return t
}

// change calls f with the path of every leaf of full(), changed alone.
func change(t *testing.T, f func(path string, row *Trajectory)) {
	t.Helper()
	var walk func(path string, at func(*Trajectory) reflect.Value)
	walk = func(path string, at func(*Trajectory) reflect.Value) {
		switch v := at(full()); v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				t.Fatalf("full() leaves %s empty", path)
			}
			walk(path, func(r *Trajectory) reflect.Value { return at(r).Elem() })
			row := full()
			at(row).SetZero()
			f(path+" null", row)
		case reflect.Slice:
			if v.Len() == 0 {
				t.Fatalf("full() leaves %s empty", path)
			}
			walk(path, func(r *Trajectory) reflect.Value { return at(r).Index(0) })
			row := full()
			s := at(row)
			s.Set(reflect.Append(s, s.Index(0)))
			f(path+" longer", row)
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).Anonymous {
					continue
				}
				name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("parquet"), ",")
				walk(strings.TrimPrefix(path+"."+name, "."), func(r *Trajectory) reflect.Value { return at(r).Field(i) })
			}
		default:
			row := full()
			switch leaf := at(row); leaf.Kind() {
			case reflect.String:
				leaf.SetString(leaf.String() + "!")
			case reflect.Bool:
				leaf.SetBool(!leaf.Bool())
			case reflect.Float32, reflect.Float64:
				leaf.SetFloat(leaf.Float() + 1)
			default:
				leaf.SetInt(leaf.Int() + 1)
			}
			f(path, row)
		}
	}
	walk("", func(r *Trajectory) reflect.Value { return reflect.ValueOf(r).Elem() })
}

// The digests cover exactly the columns that the column table marks, for every
// single leaf.
func TestDigestsCoverTheMarkedColumns(t *testing.T) {
	columns := map[string]schema.Column{}
	for _, c := range schema.Columns(schema.KindTrajectories) {
		columns[c.Path] = c
	}
	before, seen := full(), map[string]bool{}
	change(t, func(changed string, row *Trajectory) {
		path, _, _ := strings.Cut(changed, " ")
		digested := row.PayloadDigest
		row.SetPayloadDigest()
		if c, leaf := columns[path]; leaf {
			seen[path] = true
			if got := row.PayloadDigest != before.PayloadDigest; got != c.Payload && path != "payload_digest" {
				t.Errorf("%s: payload digest changed: %v, want %v", changed, got, c.Payload)
			}
			row.PayloadDigest = map[bool]string{true: digested, false: row.PayloadDigest}[path == "payload_digest"]
			if got := Digest(row) != Digest(before); got == c.Volatile {
				t.Errorf("%s: digest changed: %v, but volatile is %v", changed, got, c.Volatile)
			}
		}
	})
	for path := range columns {
		if !seen[path] {
			t.Errorf("column %s was not changed", path)
		}
	}
}

func TestNullAndEmptyAreTheSameRows(t *testing.T) {
	a, b := full(), full()
	a.ShapedRewards, b.ShapedRewards = nil, []float64{}
	if Digest(a) != Digest(b) {
		t.Error("a null list and an empty one differ")
	}
	zero := 0.0
	a.Reward, b.Reward = nil, &zero
	if Digest(a) == Digest(b) {
		t.Error("no reward and a reward of 0 are the same")
	}
}

// Values cannot move between neighbouring fields without changing the digest.
func TestDigestSeparatesFields(t *testing.T) {
	a, b := full(), full()
	a.Messages[0].Role, a.Messages[0].Content = "ab", "c"
	b.Messages[0].Role, b.Messages[0].Content = "a", "bc"
	a.SetPayloadDigest()
	b.SetPayloadDigest()
	if a.PayloadDigest == b.PayloadDigest {
		t.Error("role and content run together")
	}
}

// The sum for the same rows is the same in any order and split over any shards.
func TestRowsDigestIgnoresOrderAndShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.StringN(0, 8, -1), 1, 50).Draw(t, "ids")
		var whole RowsDigest
		for _, id := range ids {
			whole.Add(Digest(&Score{TrajectoryID: id}))
		}
		shards := make([]RowsDigest, rapid.IntRange(1, 5).Draw(t, "shards"))
		for _, id := range rapid.Permutation(ids).Draw(t, "order") {
			shards[rapid.IntRange(0, len(shards)-1).Draw(t, "shard")].Add(Digest(&Score{TrajectoryID: id}))
		}
		var merged RowsDigest
		for _, s := range shards {
			merged.Merge(s)
		}
		if merged != whole || merged.Rows() != int64(len(ids)) {
			t.Fatalf("shards give %s, the whole gives %s", merged, whole)
		}
		one := Digest(&Score{TrajectoryID: ids[0]})
		if merged.Add(one); merged == whole {
			t.Fatal("a row that comes twice does not count")
		}
	})
}

func TestRowsDigestSurvivesJSON(t *testing.T) {
	var d, back RowsDigest
	d.Add(Digest(full()))
	d.Add(Digest(&Score{}))
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &back); err != nil || back != d {
		t.Errorf("%s came back as %s, %v", d, back, err)
	}
	for _, bad := range []string{`""`, `"x"`, `"1-"`, `"1-00"`, `"-1-00000000000000000000000000000000"`,
		`"1-00000000000000000000000000000000x"`, `"01-00000000000000000000000000000000"`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s was read as %s", bad, back)
		}
	}
}

// Stored digests must stay valid for years: these values may change only
// together with the schema's major version.
func TestDigestsAreStable(t *testing.T) {
	row := full()
	row.Calls[0].Repeated = false // as before 2.4
	row.SetPayloadDigest()
	if got, want := row.PayloadDigest, "84d10b2663fb0c78dee10a3cbdaf2365"; got != want {
		t.Errorf("payload digest %s, want %s", got, want)
	}
	row.Advantages, row.Losses, row.ForkedFrom, row.ForkCall = nil, nil, "", nil // as in 2.0
	var d RowsDigest
	d.Add(Digest(row))
	d.Add(Digest(&Score{TrajectoryID: "t", Status: outcomes.StatusOK}))
	if got, want := d.String(), "2-17af39f5e10d5d1a686f03ff3bf6a4a8"; got != want {
		t.Errorf("rows digest %s, want %s", got, want)
	}
}

func BenchmarkDigest(b *testing.B) {
	row := full()
	row.Messages = make([]Message, 10)
	for i := range row.Messages {
		row.Messages[i] = Message{Content: strings.Repeat("x", 1200), TokenIDs: make([]int32, 150), Logprobs: make([]float32, 150)}
	}
	b.SetBytes(10 * (1200 + 150*8))
	for b.Loop() {
		row.SetPayloadDigest()
		Digest(row)
	}
}

// A column that a later version adds is null in older rows and does not change
// their digest, wherever it is in the row.
func TestNullColumnsLeaveTheDigestAlone(t *testing.T) {
	type inner struct {
		A int32 `parquet:"a"`
	}
	type innerLater struct {
		New string `parquet:"new,optional"`
		A   int32  `parquet:"a"`
	}
	type row struct {
		ID   string  `parquet:"id"`
		List []inner `parquet:"list,list"`
	}
	type later struct {
		Added *int64       `parquet:"added,optional"`
		List  []innerLater `parquet:"list,list"`
		More  []string     `parquet:"more,optional,list"`
		ID    string       `parquet:"id"`
	}
	old, same := &row{"x", []inner{{1}, {0}}}, &later{ID: "x", List: []innerLater{{A: 1}, {A: 0}}}
	if Digest(old) != Digest(same) {
		t.Error("columns that are null changed the digest")
	}
	zero := int64(0)
	for _, other := range []*later{
		{ID: "x", List: same.List, Added: &zero},
		{ID: "x", List: same.List, More: []string{""}},
		{ID: "x", List: []innerLater{{A: 1, New: "n"}, {A: 0}}},
		{ID: "x", List: []innerLater{{A: 1}, {A: 0, New: "n"}}},
	} {
		if Digest(other) == Digest(old) {
			t.Errorf("%+v has the digest of a row without these columns", other)
		}
	}
}
