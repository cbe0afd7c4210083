package funnel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
)

// made is a dataset of a stage, made of others.
func made(stage, digest string, rows int64, counts map[string]int64, facts map[string]float64, of ...string) Stage {
	m := &manifest.Manifest{Content: manifest.Content{Stage: stage, Rows: rows, Counts: counts, Facts: facts}}
	for _, d := range of {
		m.Inputs = append(m.Inputs, manifest.Ref{Digest: d})
	}
	return Stage{Manifest: m, Digest: digest}
}

// whole is an epoch of 10 attempts, 8 of which ended well, 7 were scored and 4 kept.
func whole() Epoch {
	rollout := made("rollout", "r", 10, map[string]int64{"ok": 7, "truncated": 1, "failed": 2}, map[string]float64{"forks": 3})
	rollout.Failures = map[string]int64{"engine": 2}
	scores := made("score", "s", 10, map[string]int64{"scored": 7, "unscored": 1, "failed": 2}, nil, "r")
	scores.Failures = map[string]int64{"timeout": 1, "trajectory": 2}
	group := made("group", "g", 10, map[string]int64{"advantage": 6, "singleton": 1, "unscored": 1, "failed": 2},
		map[string]float64{"groups": 4, "groups_with_advantages": 3, "groups_flat": 1, "pairs": 2, "pairs_tie": 3, "pairs_unfit_turns": 1}, "r", "s")
	curate := made("curate", "c", 4, map[string]int64{"kept": 4, "dropped": 6}, nil, "r", "g")
	curate.Drops = map[string]int64{"flat": 2, "min_valid": 1, "failed": 2, "unscored": 1}
	return Epoch{Stages: map[string]Stage{"rollout": rollout, "score": scores, "group": group, "curate": curate},
		Receipt: &receipts.Receipt{State: receipts.JobCompleted, Backend: "art", Trajectories: 4, CuratedDigest: formats.RowsDigest{}.String()}}
}

// TestAdd: what is missing, stale or unexplained has a name, and every step adds up, alone and with others.
func TestAdd(t *testing.T) {
	all := Funnel{}
	for i, c := range []struct {
		name   string
		change func(*Epoch)
		want   string // of the text
	}{
		{"forks", func(*Epoch) {}, "of 10 trajectories: 7 by rollout, 3 forks"},
		{"pairs", func(*Epoch) {}, "pairs 2 40.0 % of 5 pairs"},
		{"groups", func(*Epoch) {}, "too few rewards 1"},
		{"rules", func(*Epoch) {}, "flat 2"},
		{"no scores yet", func(e *Epoch) { e.Stages = map[string]Stage{"rollout": e.Stages["rollout"]} }, "not scored yet 8"},
		{"a missing shard", func(e *Epoch) { e.Stages["curate"] = Stage{Why: "shard 1 of 2 missing"} }, "curate: shard 1 of 2 missing 7"},
		{"scores of another rollout", func(e *Epoch) { e.Stages["score"].Inputs[0].Digest = "old" }, "score was made of another rollout 8"},
		{"curated of other groups", func(e *Epoch) { e.Stages["curate"].Inputs[1].Digest = "old" }, "curate was made of another group 7"},
		{"groups that are gone", func(e *Epoch) { delete(e.Stages, "group") }, "not known: epoch 8: group: there is only what was made of it"},
		{"no scores, but groups", func(e *Epoch) { delete(e.Stages, "score") }, "for a reason that is not counted 1"},
		{"no rollout", func(e *Epoch) { delete(e.Stages, "rollout") }, "not known: epoch 10: rollout: there is no dataset"},
		{"of another epoch", func(e *Epoch) { e.Stages["curate"].Rows, e.Stages["curate"].Counts["kept"] = 9, 9 }, ", with 5 from elsewhere|: 5 from elsewhere"},
		{"imported", func(e *Epoch) { e.Stages["rollout"].Stage = "import" }, "not known: epoch 12: examples: the manifest of import counts none"},
		{"a later extension", func(e *Epoch) { e.Later = made("rollout", "l", 14, nil, map[string]float64{"added": 4}) },
			"not known: epoch 13: the 4 attempts of a later extension are not scored yet"},
		{"extended elsewhere", func(e *Epoch) { e.Stages["rollout"].Facts["added"] = 4 }, "6 of the dataset that was extended, 4 in refills"},
		{"not submitted", func(e *Epoch) { e.Receipt = nil }, "not submitted yet 4"},
		{"another receipt", func(e *Epoch) { e.Receipt.CuratedDigest = "old" }, "the receipt is of another curated dataset 4"},
		{"a failed job", func(e *Epoch) { e.Receipt.State = receipts.JobFailed }, "job failed 4"},
		{"a remainder", func(e *Epoch) { e.Receipt.Trajectories = 3 }, "left out by art 1"},
	} {
		one, e := Funnel{}, whole()
		c.change(&e)
		one.Add(i, e)
		all.Add(i, e)
		for _, f := range []Funnel{one, all} {
			before := map[string]int64{}
			for _, s := range f.Steps {
				if s.In != before[s.Unit]+s.Added.sum() || s.In != s.Out+s.Lost.sum()+s.Open.sum() {
					t.Errorf("%s: after %d, it does not add up: %+v", c.name, before[s.Unit], s)
				}
				before[s.Unit] = s.Out
			}
		}
		var text strings.Builder
		if err := one.WriteText(&text); err != nil {
			t.Error(err)
		}
		got, found := strings.Join(strings.Fields(text.String()), " "), false
		for want := range strings.SplitSeq(c.want, "|") {
			found = found || strings.Contains(got, want)
		}
		if !found {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, &text)
		}
	}
	if n := len(all.Steps); n != 7 { // no manifest counts examples
		t.Errorf("%d steps: %s", n, fmt.Sprint(all.Steps))
	}
}
