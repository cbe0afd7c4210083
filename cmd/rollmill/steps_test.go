package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/random"
)

// TestAdvantagesOfMessagesReachTheTrainer: what group computes for a message is in the
// curated row, and in the exported sequences at each of the message's tokens.
func TestAdvantagesOfMessagesReachTheTrainer(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	shard, err := dataset.Begin(t.Context(), at("rollout"), dataset.Spec{Stage: "rollout", Version: 1, Kind: formats.KindTrajectories}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := dataset.NewTable[formats.Trajectory](shard, "", -1)
	for group := range random.Trajectories(3, random.Options{Groups: 8, Generations: 4, Messages: 8, SampledTokens: 20, PromptTokens: 20, Scored: true}) {
		for i := range group {
			row := &group[i]
			row.ShapedRewards = nil
			for _, m := range row.Main() {
				if row.Messages[m].Sampled {
					row.ShapedRewards = append(row.ShapedRewards, float64((i+m)%3))
				}
			}
		}
		if err := table.Write(t.Context(), group); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shard.Commit(t.Context(), dataset.Outcome{}); err != nil {
		t.Fatal(err)
	}
	inProcess(t, "group", "--in", at("rollout"), "--out", at("group"), "--estimator", "turns", "--turns-discount", "0.5")
	inProcess(t, "curate", "--in", at("group"), "--out", at("curate"), "--keep-flat")
	inProcess(t, "audit", "--in", at("curate"))
	inProcess(t, "export", "--in", at("curate"), "--to", "sequences.jsonl", "--out", at("rows.jsonl"))
	members := map[string][]formats.MessageAdvantage{}
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
	lines, err := os.ReadFile(at("rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for in := bufio.NewScanner(bytes.NewReader(lines)); in.Scan(); {
		var s trainers.SequenceRow
		if err := json.Unmarshal(in.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
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
