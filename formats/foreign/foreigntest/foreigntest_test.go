package foreigntest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// formattestFile writes groups with our own encoding.
func formattestFile[T any](t testing.TB, groups [][]T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewWriter[T](&out)
	for _, rows := range groups {
		if err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestOurEncoding(t *testing.T) {
	RunWriters(t, Writers{formattestFile[formats.Trajectory], formattestFile[formats.Score],
		formattestFile[formats.Member], formattestFile[formats.GroupStats], formattestFile[decision.Decision]})
}

// The comparison itself can fail: it distinguishes each of these rows from the
// other.
func TestTheComparisonSeesDifferences(t *testing.T) {
	one, other := 1.0, 1.0000000000000002
	scores := map[string][2]formats.Score{
		".trajectory_id":    {{TrajectoryID: "a"}, {TrajectoryID: "b"}},
		".epoch":            {{Epoch: 1}, {Epoch: 2}},
		".reward":           {{Reward: &one}, {Reward: &other}},
		".rewards[0].name":  {{Rewards: []formats.NamedReward{{Name: "a"}}}, {Rewards: []formats.NamedReward{{Name: "b"}}}},
		".rewards:":         {{Rewards: []formats.NamedReward{{}}}, {}},
		".error: want null": {{}, {Error: "x"}},
	}
	for where, pair := range scores {
		if got := mismatch(t, pair[0], pair[1]); !strings.Contains(got, where) {
			t.Errorf("%s: %q", where, got)
		}
	}
	a := randomtest.Group(1, 0, randomtest.Options{Generations: 1})[0]
	b := randomtest.Group(1, 0, randomtest.Options{Generations: 1})[0]
	b.Messages[2].Logprobs[3] += 1e-6
	b.PayloadDigest = a.PayloadDigest
	if got := mismatch(t, a, b); !strings.Contains(got, ".messages[2].logprobs[3]") {
		t.Errorf("logprobs: %q", got)
	}
}

// mismatch returns what Arrow reports for a file of one row when another was
// expected.
func mismatch[T any](t *testing.T, want, written T) string {
	r := &recorder{TB: t}
	func() {
		defer func() { _ = recover() }()
		Arrow(r, formattestFile(t, [][]T{{written}}), []T{want})
	}()
	return r.said
}

// recorder is a testing.TB that may fail.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}
func (r *recorder) Fatalf(format string, args ...any) {
	r.said = fmt.Sprintf(format, args...)
	panic(r)
}
