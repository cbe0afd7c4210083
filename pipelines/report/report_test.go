package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/funnel"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/storage"
)

// writeScores writes a rollout and its scores: rewards by example, nil for a failed
// trajectory.
func writeScores(t *testing.T, dir string, rewards [][]*float64) {
	t.Helper()
	ctx := context.Background()
	var wide []formats.Trajectory
	var thin []formats.Score
	for e, group := range rewards {
		for g, r := range group {
			id, example := formats.TrajectoryID("run", string(rune('a'+e)), 0, g), string(rune('a'+e))
			status := outcomes.StatusOK
			if r == nil {
				status = outcomes.StatusFailed
			}
			wide = append(wide, formats.Trajectory{TrajectoryID: id, ExampleID: example, Generation: int32(g), Status: status, StopReason: outcomes.StopDone})
			thin = append(thin, formats.Score{TrajectoryID: id, ExampleID: example, Generation: int32(g), Status: status, Reward: r,
				Rewards: []formats.NamedReward{{Name: "won", Value: r, Weight: 1}}})
		}
	}
	base := write(t, dir+"/rollout", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories, Params: map[string]any{"run": "run"}}, wide, -1)
	ref, err := dataset.Open(ctx, base, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := ref.Ref("base", dir+"/score")
	write(t, dir+"/score", manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{r}, Base: &r}, thin, 0)
}

type scoreKey struct {
	ID      string `parquet:"trajectory_id"`
	Example string `parquet:"example_id,dict"`
}

// scoreAgain writes further scores of the rollout in a folder, all of one reward.
func scoreAgain(t *testing.T, dir, name string, reward float64) {
	t.Helper()
	base, err := dataset.Open(t.Context(), dir+"/rollout", dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := dataset.ReadAll[scoreKey](t.Context(), base, "", base.All())
	if err != nil {
		t.Fatal(err)
	}
	scores := make([]formats.Score, len(rows))
	for i, r := range rows {
		scores[i] = formats.Score{TrajectoryID: r.ID, ExampleID: r.Example, Status: outcomes.StatusOK, Reward: &reward,
			Rewards: []formats.NamedReward{{Name: "new", Value: &reward, Weight: 1}}}
	}
	r := base.Ref("base", dir+"/"+name)
	write(t, dir+"/"+name, manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{r}, Base: &r}, scores, 0)
}

// TestFurtherScores: each score dataset of an epoch has its column and its plot,
// whose name is the folder's. What else is in an epoch's folder is none.
func TestFurtherScores(t *testing.T) {
	root := t.TempDir()
	for e := range 2 {
		writeScores(t, fmt.Sprintf("%s/epoch-%d", root, e), [][]*float64{{ptr(1), ptr(0.5)}, {ptr(0), nil}})
	}
	writeScores(t, root+"/epoch-1/validation", [][]*float64{{ptr(0.25)}, {ptr(1)}})
	scoreAgain(t, root+"/epoch-1", "strict", 7)
	scoreAgain(t, root+"/epoch-1/validation", "strict", 9)
	write(t, root+"/epoch-1/copy", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, []formats.Trajectory{}, -1)
	if err := os.MkdirAll(root+"/epoch-1/notes", 0o777); err != nil {
		t.Fatal(err)
	}
	run, err := Make(t.Context(), Options{Root: root, Page: true})
	if err != nil {
		t.Fatal(err)
	}
	one := run.Epochs[1].Scores
	if run.Epochs[0].Scores != nil || len(one) != 2 || *one["strict"].Mean != 7 || *one["validation/strict"].Mean != 9 ||
		*run.Epochs[1].Train.Mean != 0.5 {
		t.Errorf("%+v, %+v", run.Epochs[0].Scores, one)
	}
	var text strings.Builder
	if err := run.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	if line := "epoch 1: 2 of 3 rewards flip from strict to score: solved (1 or more) in one only, 1 are null in one; `rollmill diff "; run.Epochs[1].Flips["strict"] != 2 ||
		len(run.Epochs[1].Flips) != 1 || !strings.Contains(text.String(), line) {
		t.Errorf("flips %v, not %q in\n%s", run.Epochs[1].Flips, line, &text)
	}
	lines := strings.Split(text.String(), "\n")
	if !strings.Contains(lines[0], "reward strict  reward validation/strict") || !strings.Contains(lines[1], " -  ") ||
		!strings.Contains(lines[2], "7.0000                    9.0000") {
		t.Errorf("%s", text.String())
	}
	page, err := os.ReadFile(root + "/report.html")
	if err != nil || !strings.Contains(string(page), "validation/strict") {
		t.Errorf("the page has no further scores: %v", err)
	}
}

func write[T any](t *testing.T, uri string, spec manifest.Spec, rows []T, baseFirst int64) string {
	t.Helper()
	ctx := context.Background()
	s, err := shards.Begin(ctx, uri, spec, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := shards.NewTable[T](s, "", baseFirst)
	if err := w.Write(ctx, rows); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, shards.Outcome{Counts: map[string]int64{}}); err != nil {
		t.Fatal(err)
	}
	return uri
}

func ptr(f float64) *float64 { return &f }

func TestRewardsAreMeansOverScoredTrajectories(t *testing.T) {
	root := t.TempDir()
	writeScores(t, root+"/epoch-0", [][]*float64{{ptr(1), ptr(0), nil}, {ptr(0.5), nil, nil}})
	writeScores(t, root+"/epoch-0/validation", [][]*float64{{ptr(0.25)}})
	writeScores(t, root+"/epoch-1", [][]*float64{{nil}})
	run, err := Make(context.Background(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Epochs) != 2 {
		t.Fatalf("%d epochs, want 2", len(run.Epochs))
	}
	e := run.Epochs[0]
	if e.Train.Scored != 3 || e.Train.Trajectories != 6 || e.Train.Failed != 3 || math.Abs(*e.Train.Mean-0.5) > 1e-12 || *e.Train.Min != 0 ||
		*e.Train.Max != 1 {
		t.Errorf("train: %+v", *e.Train)
	}
	if *e.Validation.Mean != 0.25 || e.Validation.Examples != 1 || e.Validation.Rewards["won"] != 0.25 {
		t.Errorf("validation: %+v", *e.Validation)
	}
	if run.Epochs[1].Train.Mean != nil {
		t.Errorf("an epoch of failures has a mean: %v", *run.Epochs[1].Train.Mean)
	}
	checkFiles(t, root)
	var table bytes.Buffer
	if err := run.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "0.5000") || !strings.Contains(table.String(), "4 of 7 trajectories failed") {
		t.Errorf("table:\n%s", table.String())
	}
}

func checkFiles(t *testing.T, root string) {
	t.Helper()
	b, err := storage.Open(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		data, err := b.Read(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	lines := bytes.Split(bytes.TrimSpace(read("training_metrics.jsonl")), []byte("\n"))
	var m map[string]any
	if err := json.Unmarshal(lines[0], &m); err != nil || len(lines) != 2 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for _, field := range strings.Fields("epoch timestamp run_id avg_reward min_reward max_reward num_trajectories num_groups filtered_trajectories " +
		"filtered_groups filtered_avg_reward filtered_min_reward filtered_max_reward curriculum_percentile") {
		if _, ok := m[field]; !ok {
			t.Errorf("training_metrics.jsonl has no %s", field)
		}
	}
	var history []map[string]any
	if err := json.Unmarshal(read("validation_history.json"), &history); err != nil || len(history) != 1 || history[0]["num_examples"] != 1.0 {
		t.Errorf("validation_history.json: %v %v", history, err)
	}
	if err := json.Unmarshal(read("reward_history.json"), &history); err != nil || len(history) != 2 || history[0]["num_trajectories"] != 6.0 {
		t.Errorf("reward_history.json: %v %v", history, err)
	}
	if _, err := png.Decode(bytes.NewReader(read("reward_plot.png"))); err != nil {
		t.Errorf("reward_plot.png: %v", err)
	}
}

// TestReportHasTheTokensThatWereHandedOver checks that the report repeats what the
// receipt counted of each file of sequences, wherever it shows epochs.
func TestReportHasTheTokensThatWereHandedOver(t *testing.T) {
	root, ctx := t.TempDir(), t.Context()
	writeScores(t, root+"/epoch-0", [][]*float64{{ptr(1), ptr(0)}})
	b, err := storage.Open(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := json.Marshal(receipts.Receipt{Format: receipts.Format, State: receipts.JobCompleted,
		Sequences: map[string]receipts.Balance{"sequences.parquet": {Trajectories: 2, Sequences: 3, Tokens: 40, In: 44, Lost: 4, Shared: 17}}})
	if err == nil {
		err = b.Write(ctx, "epoch-0/submit/"+receipts.File, receipt)
	}
	if err != nil {
		t.Fatal(err)
	}
	run, err := Make(ctx, Options{Root: root, Page: true})
	if err != nil {
		t.Fatal(err)
	}
	const want = "epoch 0, sequences.parquet: 40 of 44 sampled tokens in 3 sequences of 2 trajectories; 17 prompt tokens repeat an earlier sequence"
	var table bytes.Buffer
	if err := run.WriteTable(&table); err != nil || !strings.Contains(table.String(), "\n"+want+"\n") {
		t.Errorf("%v in %s", err, table.String())
	}
	if page, err := b.Read(ctx, "report.html"); err != nil || !bytes.Contains(page, []byte(want)) {
		t.Errorf("the page has no such line: %v", err)
	}
	if back, err := history.ReadHistory(ctx, b); err != nil || len(back) != 1 || len(back[0].Handed()) != 1 || back[0].Handed()[0] != want {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestCurriculumStateFields(t *testing.T) {
	data, err := json.Marshal(stateOf(history.Epoch{Curriculum: &history.Curriculum{
		CurriculumState: decision.CurriculumState{Share: 0.5, LastExpansion: 2, TotalGroups: 8, Included: 2},
		Chosen:          []int{0, 2},
		Config:          map[string]any{"initial": 0.3, "increment": 0.2, "interval": 5, "min-reward-diff": 0.1, "ascending": false, "random-subsample": nil},
	}}))
	want := `{"current_percentile":0.5,"last_expansion_epoch":2,"total_groups":8,"included_groups":[0,2],"config":{"enabled":true,` +
		`"expansion_interval":5,"increment_percentile":0.2,"initial_percentile":0.3,"min_reward_diff":0.1,"random_subsample":null,"sort_ascending":false}}`
	if err != nil || string(data) != want {
		t.Errorf("got %s, %v", data, err)
	}
}

func TestMissingRunError(t *testing.T) {
	_, err := Make(context.Background(), Options{Root: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "no epoch has a finished rollout") {
		t.Fatalf("got %v", err)
	}
}

func TestAdviceForEmptyEpoch(t *testing.T) {
	for want, s := range map[string]history.Sample{
		"no trajectories collected for epoch 3":               {},
		"9 of 10 trajectories failed":                         {Trajectories: 10, Failed: 9},
		"none of the 10 trajectories of epoch 3 has a reward": {Trajectories: 10, Groups: 2},
		"each of the 10 groups has one trajectory":            {Trajectories: 10, Groups: 10, Scored: 10, Mean: ptr(0.5)},
	} {
		if a := history.Advice([]history.Epoch{{Epoch: 3, Train: &s}}); len(a) != 1 || !strings.Contains(a[0], want) {
			t.Errorf("%+v: %q, want %q", s, a, want)
		}
	}
}

func TestAdviceWhenRewardsDoNotIncrease(t *testing.T) {
	var flat, rising []history.Epoch
	for i := range 9 {
		flat = append(flat, history.Epoch{Epoch: i, Flat: 9, Train: &history.Sample{Trajectories: 80, Groups: 10, Scored: 80, Mean: ptr(0.5)}})
		rising = append(rising, history.Epoch{Epoch: i, Train: &history.Sample{Trajectories: 80, Groups: 10, Scored: 80, Mean: ptr(float64(i))}})
	}
	if a := strings.Join(history.Advice(flat), "\n"); !strings.Contains(a, "not increasing") || !strings.Contains(a, "are flat") {
		t.Errorf("advice for a run that does not improve: %q", a)
	}
	if a := history.Advice(rising); len(a) > 0 {
		t.Errorf("advice for a run that learns: %q", a)
	}
}

// TestFlatGroupsAreThoseThatGroupCounted: rewards that differ by 1e-10 are not equal.
func TestFlatGroupsAreThoseThatGroupCounted(t *testing.T) {
	root := t.TempDir()
	writeEpoch(t, root+"/epoch-0", 4, 2, func(int, int) formats.Trajectory { return formats.Trajectory{} })
	d, err := dataset.Open(t.Context(), root+"/epoch-0/group", dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.Facts = map[string]float64{"groups": 4, "groups_flat": 3}
	e := history.Epoch{Train: &history.Sample{}}
	if e.Add("group", funnel.Stage{Manifest: &d.Manifest}); e.Flat != 3 || e.Train.Groups != 4 {
		t.Errorf("%d flat of %d", e.Flat, e.Train.Groups)
	}
}
