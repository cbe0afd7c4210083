package rows

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

func roundTrip(t *testing.T, row formats.Trajectory) {
	t.Helper()
	line := Append(nil, &row)
	if !json.Valid(line) || bytes.ContainsRune(line, '\n') {
		t.Fatalf("not JSON on one line: %.300s", line)
	}
	got, err := decode(line)
	if err != nil {
		t.Fatalf("%v: %.300s", err, line)
	}
	if diff := cmp.Diff(row, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
		t.Fatalf("-written +read:\n%s", diff)
	}
}

func TestRowsAreReadBack(t *testing.T) {
	o := randomtest.Options{Groups: 20, Scored: true, Failures: 0.3, Unscored: 0.2, Branches: 0.4, SampledTokens: 80,
		PromptTokens: 60}
	for group := range randomtest.Trajectories(3, o) {
		for _, row := range group {
			roundTrip(t, row)
		}
	}
	roundTrip(t, formats.Trajectory{})
}

func TestExtremesAreReadBack(t *testing.T) {
	version, score, nan := int64(math.MaxInt64), math.SmallestNonzeroFloat64, math.NaN()
	text := "שלום \u2028 \"q\" \\ \x01 <&> \U0001F600\r\n"
	roundTrip(t, formats.Trajectory{
		TrajectoryID: text, Epoch: math.MinInt32, PolicyVersion: &version, Reward: &nan, StartedAt: 1,
		FinishedAt:    253_402_300_799_999_999,
		ShapedRewards: []float64{math.Inf(1), math.Copysign(0, -1), 0.1},
		Rewards:       []formats.NamedReward{{}, {Name: text, Value: &score}},
		Messages: []formats.Message{{Parent: -1, Content: text,
			ToolCalls: []formats.ToolCall{{ID: text, Arguments: "{ not json"}}, TokenIDs: []int32{math.MaxInt32, math.MinInt32},
			Logprobs: []float32{-0.1, -math.MaxFloat32, float32(math.Inf(-1)), -math.SmallestNonzeroFloat32}}},
		Candidates: []formats.Candidate{{Score: &score, Call: new(int32)}},
	})
}

// The keys are the documented columns, in their order.
func TestTheKeysAreTheColumns(t *testing.T) {
	row := randomtest.Group(1, 0, randomtest.Options{Generations: 1, Scored: true})[0]
	dec := json.NewDecoder(bytes.NewReader(Append(nil, &row)))
	last := -1
	order := map[string]int{}
	for i, c := range schema.Columns(schema.KindTrajectories) {
		if top, _, _ := strings.Cut(c.Path, "."); order[top] == 0 {
			order[top] = i + 1
		}
	}
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		key, _ := dec.Token()
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
		at := order[key.(string)]
		if at <= last {
			t.Errorf("key %q is not a column, or out of order", key)
		}
		last = at
	}
}

func TestOtherKeysAreRefused(t *testing.T) {
	for _, line := range []string{`{"trajectory_id":"a","more":1}`, `{"messages":[{"text":"x"}]}`, `{} {}`,
		`{"reward":"one"}`, `{"started_at":5}`, `[]`} {
		if _, err := decode([]byte(line)); err == nil {
			t.Errorf("%s is read", line)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	group := randomtest.Group(1, 0, randomtest.Options{})
	var line []byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		line = Append(line[:0], &group[i%len(group)])
		b.SetBytes(int64(len(line)))
	}
}
