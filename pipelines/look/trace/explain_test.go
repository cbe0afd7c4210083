package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/pipelines/look/looktest"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/show"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestExplainReadsLittle checks that the trace of one trajectory among many reads
// only the ids of the rollout, the pages of its row, and those of the matching row
// in derived datasets.
func TestExplainReadsLittle(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	id := ""
	rollout, score := looktest.ScoredRun(t, root, randomtest.Options{Groups: 150, Scored: true}, func(r *formats.Trajectory, s *formats.Score) {
		if s.TrajectoryID = r.TrajectoryID; r.ExampleID == "example-000100" && r.Generation == 3 {
			id = r.TrajectoryID
		}
	})
	var moved countingtest.Counter
	s, err := Explain(storage.Wrapping(t.Context(), moved.Wrap), root, id)
	if err != nil {
		t.Fatal(err)
	}
	if s.Rollout == nil || s.Rollout.Row != 803 || len(s.Scores) != 1 || s.Scores[0].Row != 803 {
		t.Errorf("%+v", s)
	}
	if n, all := moved.Read(), rollout.Bytes+score.Bytes; n > all/5 {
		t.Errorf("%d of %d bytes were read", n, all)
	}
}

// TestIDThatIsAPrefixOfAnother traces ids of other programs, which may be short
// and prefixes of one another.
func TestIDThatIsAPrefixOfAnother(t *testing.T) {
	at := 0
	root := "mem://explain-short/run"
	looktest.ScoredRun(t, root, randomtest.Options{Groups: 3, Generations: 4, SampledTokens: 20, PromptTokens: 20}, func(r *formats.Trajectory, s *formats.Score) {
		r.TrajectoryID = fmt.Sprintf("t%d", at)
		s.TrajectoryID = r.TrajectoryID
		at++
	})
	for _, c := range []struct{ asked, id string }{{"t1", "t1"}, {"t10", "t10"}, {"t7", "t7"}} {
		s, err := Explain(t.Context(), root, c.asked)
		if err != nil || s.Rollout == nil || s.TrajectoryID != c.id {
			t.Errorf("%s: %+v, %v", c.asked, s, err)
		}
	}
	for _, c := range []struct{ asked, says, hint string }{
		{"t", `more than 5 trajectories begin with "t"`, "give more of the id"},
		{"", `more than 5 trajectories begin with ""`, "give more of the id"},
		{"u", `none of the 2 datasets here has trajectory "u"`, "rollmill show"},
	} {
		_, err := Explain(t.Context(), root, c.asked)
		var bad *fault.Error
		if !errors.As(err, &bad) || !strings.Contains(bad.What, c.says) || !strings.Contains(bad.Help, c.hint) {
			t.Errorf("%q: %v", c.asked, err)
		}
	}
}

// TestExplainTextIsOneLine checks that a model's text is shown on one line without
// control characters.
func TestExplainTextIsOneLine(t *testing.T) {
	root := "mem://explain-line/run"
	looktest.ScoredRun(t, root, randomtest.Options{Groups: 1, Generations: 1, SampledTokens: 20, PromptTokens: 20}, func(r *formats.Trajectory, s *formats.Score) {
		s.TrajectoryID = r.TrajectoryID
		r.Answer = "one\n\ttwo \x1b]0;title\x07 thr\u00e9e\r\u202e"
		r.Messages[1].Content = r.Answer
	})
	s, err := Explain(t.Context(), root, "")
	if err != nil {
		t.Fatal(err)
	}
	v, err := show.Show(t.Context(), root+"/rollout", show.Options{Rows: 1})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := errors.Join(s.WriteText(&text), v.WriteText(&text)); err != nil {
		t.Fatal(err)
	}
	const want = "one two ]0;title thr\u00e9e"
	if n := strings.Count(text.String(), want+"\n"); n != 3 || strings.ContainsAny(text.String(), "\x1b\x07\r\u202e") {
		t.Errorf("%d times %q: %q", n, want, text.String())
	}
}

// TestWhatIsOfMessages: explain shows the signals of scores, and what group made of them; show
// has them beside the message.
func TestWhatIsOfMessages(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	reward, advantage := 1.0, 0.5
	row := formats.Trajectory{TrajectoryID: "t", ExampleID: "e", Run: "run", Example: "{}", Status: outcomes.StatusOK, StopReason: outcomes.StopDone,
		Calls: []formats.Call{{Target: true, Tools: -1}}, Messages: []formats.Message{{Parent: -1, Role: "user", Content: "q", Call: -1},
			{Parent: 0, Role: "assistant", Content: "a", Sampled: true, TokenIDs: []int32{1, 2}, Logprobs: []float32{-1, -1}},
			{Parent: 1, Role: "assistant", Content: "b", Sampled: true, TokenIDs: []int32{3}, Logprobs: []float32{-1}}}}
	base := looktest.Write(t, storage.Join(root, "rollout"), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, [][]formats.Trajectory{{row}}, -1)
	thin := func(name string, kind schema.Kind) (string, manifest.Spec) {
		uri := storage.Join(root, name)
		ref := base.Ref("base", uri)
		return uri, manifest.Spec{Stage: name, Kind: kind, Inputs: []manifest.Ref{ref}, Base: &ref}
	}
	uri, spec := thin("score", schema.KindScores)
	scored := looktest.Write(t, uri, spec, [][]formats.Score{{{TrajectoryID: "t", ExampleID: "e", Status: outcomes.StatusOK, Reward: &reward,
		Signals: []formats.Signal{{Message: 1, Component: "quality", Value: 0.25}, {Message: 2, Component: "teacher", Value: -1.5, Values: []float32{-1, -2}}}}}}, 0)
	uri, spec = thin("group", schema.KindGroups)
	shard, err := shards.Begin(t.Context(), uri, spec, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	members := []formats.Member{{TrajectoryID: "t", ExampleID: "e", GroupID: "e@0", Status: outcomes.StatusOK, Reward: &reward, Advantage: &advantage,
		Advantages: []training.MessageAdvantage{{Message: 1, Value: -0.25, Tokens: []float32{0, -0.5}}},
		Losses:     []training.MessageLoss{{Message: 2, Loss: training.LossCE, Weight: 0.1}}}}
	err = errors.Join(shards.NewTable[formats.Member](shard, "", 0).Write(t.Context(), members),
		shards.NewTable[formats.GroupStats](shard, schema.TableGroups, -1).Write(t.Context(), []formats.GroupStats{{GroupID: "e@0", ExampleID: "e"}}))
	if err == nil {
		_, err = shard.Commit(t.Context(), shards.Outcome{})
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := Explain(t.Context(), root, "t")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := s.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"          message 1: quality 0.25\n          message 2: teacher -1.5, the mean of 2 tokens\n",
		"          advantage 0.5\n          message 1: advantage -0.25, the mean of 2 tokens\n          message 2: weight in the loss ce 0.1\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	asJSON, err := json.Marshal(s)
	for _, want := range []string{`"signals":[{"message":1,"name":"quality","value":0.25},{"message":2,"name":"teacher","value":-1.5,"tokens":2}]`,
		`"messages":[{"message":1,"name":"advantage","value":-0.25,"tokens":2},{"message":2,"name":"weight in the loss ce","value":0.1}]`} {
		if err != nil || !strings.Contains(string(asJSON), want) {
			t.Errorf("%v, no %s in %s", err, want, asJSON)
		}
	}
	c, err := model.Converse(t.Context(), scored.URI(), "t")
	if err != nil {
		t.Fatal(err)
	}
	text.Reset()
	err = c.Write(&text, false, false)
	if shown := text.String(); err != nil || !strings.Contains(shown, "call 0, quality 0.25, trains") || !strings.Contains(shown, "call 0, teacher -1.5, trains") {
		t.Error(err, shown)
	}
}
