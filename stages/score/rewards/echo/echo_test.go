package echo_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/echo"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

func attempt() *score.Row {
	return &score.Row{Trajectory: &formats.Trajectory{TrajectoryID: "t", Status: outcomes.StatusOK, PayloadDigest: "d",
		Calls: []formats.Call{{Target: true}, {Target: true}, {Target: true}},
		Messages: []formats.Message{
			{Parent: -1, Role: "user", Call: -1, Content: "q"},
			{Parent: 0, Role: "assistant", Sampled: true, Call: 0, PromptDeltaIDs: []int32{1, 2}, TokenIDs: []int32{3, 4}, Logprobs: []float32{-0.5, -1}},
			{Parent: 1, Role: "user", Call: -1, Content: "r"},
			{Parent: 2, Role: "assistant", Sampled: true, Call: 1, PromptDeltaIDs: []int32{5}, TokenIDs: []int32{6}, Logprobs: []float32{-2}},
			{Parent: 0, Role: "assistant", Sampled: true, Call: 2, PromptDeltaIDs: []int32{1, 2}, TokenIDs: []int32{7}, Logprobs: []float32{-1}, Branch: "retry"},
		}}}
}

// write writes a file of what a trainer gave back.
func write(t *testing.T, rows ...trainers.EchoRow) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "echo.parquet")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := parquet.NewWriter[trainers.EchoRow](f)
	for _, r := range rows {
		if err := w.Write([]trainers.EchoRow{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

type local struct {
	*os.File
	size int64
}

func (l local) Size() int64 { return l.size }

func opened(_ context.Context, uri string) (score.File, error) {
	f, err := os.Open(uri)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return local{f, info.Size()}, err
}

func value(t *testing.T, arguments string, row *score.Row) (score.Value, error) {
	t.Helper()
	r, err := echo.Kind.Make(arguments, score.Setup{Name: "trainer", Timeout: 20 * time.Second, Open: opened})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	values := make([]score.Value, 1)
	err = r.Score(t.Context(), []*score.Row{row}, values)
	return values[0], err
}

// TestEcho: each sampled token has the trainer's value, whatever the file has for tokens that
// do not train, and in whatever order its rows are.
func TestEcho(t *testing.T) {
	const any = 9
	file := write(t,
		trainers.EchoRow{TrajectoryID: "t", Old: []float32{-3}, New: []float32{-4}, Clipped: new(0.5), Entropy: []float32{2}},
		trainers.EchoRow{TrajectoryID: "other", Old: []float32{-1}},
		trainers.EchoRow{TrajectoryID: "t", Sequence: 1, Old: []float32{-0.25, -1, any, -2.5}, New: []float32{-1, -2, any, -3}, Clipped: new(0.25),
			Entropy: []float32{1, 1, any, 1}})
	for of, want := range map[string]score.Value{
		"old": {Reward: (0.25 + 0 - 0.5 - 2) / 4, Signals: []formats.Signal{
			{Message: 1, Value: -0.625, Values: []float32{-0.25, -1}}, {Message: 3, Value: -2.5, Values: []float32{-2.5}},
			{Message: 4, Value: -3, Values: []float32{-3}}}},
		"new": {Reward: (-0.5 - 1 - 1 - 3) / 4, Signals: []formats.Signal{
			{Message: 1, Value: -1.5, Values: []float32{-1, -2}}, {Message: 3, Value: -3, Values: []float32{-3}},
			{Message: 4, Value: -4, Values: []float32{-4}}}},
		"entropy": {Reward: 5. / 4, Signals: []formats.Signal{
			{Message: 1, Value: 1, Values: []float32{1, 1}}, {Message: 3, Value: 1, Values: []float32{1}}, {Message: 4, Value: 2, Values: []float32{2}}}},
		"clipped": {Reward: (0.25*3 + 0.5) / 4},
	} {
		got, err := value(t, file+",of="+of, attempt())
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v, -want +got: %s", of, err, d)
		}
	}
}

// full is a row of sequence 0 with one number everywhere.
func full(x float32) trainers.EchoRow {
	return trainers.EchoRow{TrajectoryID: "t", Old: []float32{x}, Entropy: []float32{x}, Clipped: new(float64(x))}
}

func TestFilesThatDoNotFit(t *testing.T) {
	short := write(t, trainers.EchoRow{TrajectoryID: "t", Old: []float32{-1}}, trainers.EchoRow{TrajectoryID: "t", Sequence: 1, Old: []float32{-1}})
	one := write(t, trainers.EchoRow{TrajectoryID: "t", Old: []float32{-1}})
	for _, c := range []struct{ arguments, class, what string }{
		{short, outcomes.RewardAnswer, "1 values of old for 4 response ids"},
		{one, outcomes.RewardMissing, "nothing of sequence 1"},
		{one + ",of=loss", outcomes.RewardAnswer, "no loss"},
		{write(t, trainers.EchoRow{TrajectoryID: "u"}), outcomes.RewardMissing, "nothing of the trajectory"},
		{write(t, full(3)), outcomes.RewardAnswer, "value 0 of old is 3; a log probability is at most 0"},
		{write(t, full(1e38)), outcomes.RewardAnswer, "a log probability is at most 0"},
		{write(t, full(-1)) + ",of=entropy", outcomes.RewardAnswer, "an entropy is at least 0"},
		{write(t, full(-1)) + ",of=clipped", outcomes.RewardAnswer, "the clipped share is -1"},
		{write(t, trainers.EchoRow{TrajectoryID: "t", Sequence: 1, Old: []float32{-1, -1, 0, -1}}, trainers.EchoRow{TrajectoryID: "t", Old: []float32{-2}},
			trainers.EchoRow{TrajectoryID: "t", Old: []float32{-3}}), outcomes.RewardAnswer, "several rows of sequence 0"},
	} {
		if v, err := value(t, c.arguments, attempt()); err != nil || v.Failure != c.class || !strings.Contains(v.Error, c.what) {
			t.Errorf("%s: %+v, %v", c.what, v, err)
		}
	}
	if _, err := value(t, filepath.Join(t.TempDir(), "none.parquet"), attempt()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

// TestKeptOfATrainer: without a file, what the importer of a row kept of its source's trainer.
func TestKeptOfATrainer(t *testing.T) {
	for _, c := range []struct{ arguments, metadata, what string }{
		{"", `{"message_fields":{"1":{"trainer_logprobs":[-0.25,-1],"entropies":[1,1]},"3":{"trainer_logprobs":[-2.5]},"4":{"trainer_logprobs":[-3]}}}`,
			"[{1 -0.625 [-0.25 -1]} {3 -2.5 [-2.5]} {4 -3 [-3]}] "},
		{"of=entropy", `{"message_fields":{"1":{"entropies":[1,1]},"3":{"entropies":[0]},"4":{"entropies":[2]}}}`, "[{1 1 [1 1]} {3 0 [0]} {4 2 [2]}] "},
		{"", `{"message_fields":{"1":{"trainer_logprobs":[-0.25,-1]},"4":{"trainer_logprobs":[-3]}}}`, "[] sequence 1: value 3 of old is not a number"},
		{"", `{"message_fields":{"1":{"trainer_logprobs":[-0.25,null]},"3":{"trainer_logprobs":[-2.5]},"4":{"trainer_logprobs":[-3]}}}`,
			"[] sequence 1: value 1 of old is not a number"},
		{"of=new", `{"message_fields":{"4":{"trainer_logprobs":[-3]}}}`, "[] sequence 0: the metadata has 0 values of new for 1 response ids"},
		{"", `{"message_fields":{"1":{"trainer_logprobs":[-1]}}}`, "[] the metadata has nothing of the trajectory"},
		{"", ``, "[] the metadata has nothing of the trajectory"},
		{"", `{"message_fields":{"1":{"trainer_logprobs":"x"}}}`, "[] the metadata: json: cannot unmarshal string"},
	} {
		row := attempt()
		row.Metadata = c.metadata
		v, err := value(t, c.arguments, row)
		got := "["
		for i, s := range v.Signals {
			got += strings.Repeat(" ", min(i, 1)) + fmt.Sprintf("{%d %v %v}", s.Message, s.Value, s.Values)
		}
		if got += "] " + v.Error; err != nil || !strings.HasPrefix(got, c.what) {
			t.Errorf("%s %s: %s, %v", c.arguments, c.metadata, got, err)
		}
	}
}

func TestConforms(t *testing.T) {
	var rows []trainers.EchoRow
	for _, row := range rewardtest.Rows() {
		all, problem := sequences.Of(row.Trajectory)
		if problem != nil {
			continue
		}
		for i, s := range all {
			old := make([]float32, len(s.Response))
			for k := range old {
				old[k] = -float32(math.Abs(math.Sin(float64(k + i))))
			}
			rows = append(rows, trainers.EchoRow{TrajectoryID: row.TrajectoryID, Sequence: int32(i), Old: old})
		}
	}
	if len(rows) == 0 {
		rows = append(rows, trainers.EchoRow{TrajectoryID: "none"})
	}
	rewardtest.Run(t, rewardtest.Suite{Kind: echo.Kind, Arguments: write(t, rows...), Open: opened})
}
