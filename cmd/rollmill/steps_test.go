package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/score/rewards/teacher/teachertest"
)

// TestAdvantagesOfMessagesReachTheTrainer: what group computes for a message is in the
// curated row, and in the exported sequences at each of the message's tokens.
func TestAdvantagesOfMessagesReachTheTrainer(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	rows := []formats.Trajectory{}
	for group := range randomtest.Trajectories(3, randomtest.Options{Groups: 8, Generations: 4, Messages: 8, SampledTokens: 20, PromptTokens: 20, Scored: true}) {
		for i := range group {
			row := &group[i]
			row.ShapedRewards = nil
			for _, m := range row.Main() {
				if row.Messages[m].Sampled {
					row.ShapedRewards = append(row.ShapedRewards, float64((i+m)%3))
				}
			}
		}
		rows = append(rows, group...)
	}
	writeRollout(t, at("rollout"), rows)
	inProcess(t, "group", "--in", at("rollout"), "--out", at("group"), "--estimator", "turns", "--turns-discount", "0.5")
	inProcess(t, "curate", "--in", at("group"), "--out", at("curate"), "--keep-flat")
	inProcess(t, "audit", "--in", at("curate"))
	inProcess(t, "export", "--in", at("curate"), "--to", "sequences.jsonl", "--out", at("rows.jsonl"))
	inProcess(t, "submit", "--in", at("curate"), "--out", at("submit"), "--kinds", "slime", "--dry-run", "--rows", at("own"))
	inProcess(t, "submit", "--in", at("curate"), "--out", at("submit"), "--kinds", "slime", "--dry-run", "--rows", at("scalar"), "--advantages", "trajectory")
	inProcess(t, "export", "--in", at("curate"), "--to", "slime", "--out", at("exported.jsonl"), "--advantages", "trajectory")
	with, exported := content(t, at("own/slime.jsonl")), content(t, at("exported.jsonl"))
	if without := content(t, at("scalar/slime.jsonl")); without != exported || strings.Contains(without, `"advantages":[`) ||
		!strings.Contains(with, `"advantages":[`) {
		t.Error("--advantages trajectory: the rows still have those of messages, or export's are not those of submit")
	}
	members := map[string][]training.MessageAdvantage{}
	own := 0
	for _, m := range readRows[formats.Member](t, at("group")) {
		members[m.TrajectoryID] = m.Advantages
		own += len(m.Advantages)
	}
	curated := map[string]formats.Trajectory{}
	for _, row := range readRows[formats.Trajectory](t, at("curate")) {
		curated[row.TrajectoryID] = row
		if d := cmp.Diff(members[row.TrajectoryID], row.Advantages); d != "" {
			t.Errorf("%s: -group +curate: %s", row.TrajectoryID, d)
		}
	}
	checked := 0
	for _, s := range sequenceRows(t, at("rows.jsonl")) {
		row := curated[s.TrajectoryID]
		want := make([]float32, len(s.ResponseIDs))
		for n, v := range s.Versions {
			for k := v.Start; k < v.End; k++ {
				want[k] = float32(*row.AdvantageOf(int(s.Messages[n])))
				checked++
			}
		}
		if got := []float32(s.Advantages); row.Advantages != nil && cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v, want %v", s.TrajectoryID, got, want)
		}
	}
	if own == 0 || checked == 0 {
		t.Errorf("%d messages have an advantage of their own, and %d tokens were compared", own, checked)
	}
}

// TestTeacherReachesTheTrainer: what a teacher says of tokens is paid for once, and is in
// the sequences of a trainer: as advantages, or as a loss.
func TestTeacherReachesTheTrainer(t *testing.T) {
	engine := teachertest.Start(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	rows := []formats.Trajectory{}
	for group := range randomtest.Trajectories(4, randomtest.Options{Groups: 4, Generations: 3, Messages: 8, SampledTokens: 12, PromptTokens: 10, Branches: 0.5}) {
		rows = append(rows, group...)
	}
	writeRollout(t, at("rollout"), rows)
	score := func(as string) {
		inProcess(t, "score", "--in", at("rollout"), "--out", at(as), "--reward", "len=expr:generation", "--reward",
			"t*0.5=teacher:"+engine.URL+"/v1,model=large", "--judge-cache", at("cache"))
	}
	score("first")
	asked := engine.Asked.Load()
	if score("second"); asked == 0 || engine.Asked.Load() != asked {
		t.Errorf("the teacher was asked %d and %d times", asked, engine.Asked.Load())
	}
	compared := 0
	for _, loss := range []string{training.LossRL, training.LossRefKL} {
		inProcess(t, "group", "--in", at("first"), "--out", at("group-"+loss), "--estimator", "distill", "--distill-weight", "2",
			"--distill-loss", loss)
		inProcess(t, "curate", "--in", at("group-"+loss), "--out", at("curate-"+loss), "--keep-flat")
		inProcess(t, "audit", "--in", at("curate-"+loss))
		inProcess(t, "export", "--in", at("curate-"+loss), "--to", "sequences.jsonl", "--out", at(loss+".jsonl"))
		for _, s := range sequenceRows(t, at(loss+".jsonl")) {
			ids := slices.Concat(s.PromptIDs, s.ResponseIDs)
			for k, trains := range s.LossMask {
				if !trains {
					continue
				}
				teacher := float32(teachertest.Logprob(ids[:len(s.PromptIDs)+k+1]))
				want, got := 2*(teacher-s.Logprobs[k]), float32(0)
				if loss == training.LossRL {
					got = s.Advantages[k]
				} else if got = s.RefLogprobs[k]; s.RefKLWeights[k] == 2 && s.RLWeights[k] == 0 && s.CEWeights[k] == 0 {
					want = teacher
				}
				if d := got - want; d > 1e-4 || d < -1e-4 {
					t.Fatalf("%s, %s, token %d: %v, want %v", loss, s.TrajectoryID, k, got, want)
				}
				compared++
			}
		}
	}
	if compared == 0 {
		t.Error("no token was compared")
	}
}

func writeRollout(t *testing.T, uri string, rows []formats.Trajectory) {
	t.Helper()
	shard, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := shards.NewTable[formats.Trajectory](shard, "", -1).Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
}

func sequenceRows(t *testing.T, file string) (out []trainers.SequenceRow) {
	t.Helper()
	lines, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(lines) {
		var s trainers.SequenceRow
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func readRows[T any](t *testing.T, uri string) []T {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := dataset.ReadAll[T](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
