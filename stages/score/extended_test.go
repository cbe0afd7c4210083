package score_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/score"
)

// extended writes a rollout of rows that names another as its base.
func extended(t *testing.T, uri, of string, list []formats.Trajectory) {
	t.Helper()
	s, err := shards.Begin(t.Context(), uri,
		manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories, Inputs: []manifest.Ref{openAt(t, of).Ref("base", uri)}}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := shards.NewTable[formats.Trajectory](s, "", -1)
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].ExampleID == list[0].ExampleID {
			n++
		}
		if err := table.Write(t.Context(), list[:n]); err != nil {
			t.Fatal(err)
		}
		list = list[n:]
		if err := table.EndRowGroup(); err != nil { // so that shards have something to divide
			t.Fatal(err)
		}
	}
	if _, err := s.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
}

func openAt(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The scores of rollouts are carried over to what extends them, once or twice,
// in any number of shards: the rows are those of scoring anew, and only the
// new ones are computed.
func TestScoresOfTheBaseAreCarriedOver(t *testing.T) {
	all := trajectories()
	r := rand.New(rand.NewPCG(3, 4))
	var first, second []formats.Trajectory // of growing datasets
	for _, row := range all {
		chance := r.Float64()
		if chance < 0.5 {
			first = append(first, row)
		}
		if chance < 0.75 {
			second = append(second, row)
		}
	}
	first = first[:len(first)/generations*generations]
	base(t, "mem://previous/rollout", first)
	extended(t, "mem://previous/second", "mem://previous/rollout", second)
	extended(t, "mem://previous/third", "mem://previous/second", all)
	specs := []string{"prog=expr:len(answer) % 7", "steps*0.5=command:" + words("shaped"), "sum*0=expr:rewards.prog + generation"}
	run(t, options(t, "mem://previous/rollout", "mem://previous/score", specs...))
	want := run(t, options(t, "mem://previous/third", "mem://previous/anew", specs...))
	var fresh, scorable float64
	old := map[string]bool{}
	for _, row := range first {
		old[row.TrajectoryID] = true
	}
	for _, row := range all {
		if score.Scorable(row.Status) {
			scorable++
			if !old[row.TrajectoryID] {
				fresh++
			}
		}
	}
	for _, n := range []int{1, 4} {
		out := fmt.Sprint("mem://previous/carried-", n)
		var got stages.Report
		for i := range n {
			o := options(t, "mem://previous/third", out, specs...)
			o.Only, o.From.URI, o.Out.Shard, o.Concurrency, o.BatchRows = []string{"missing"}, "mem://previous/score", stages.Shard{Index: i, Count: n}, 1, 5
			got = run(t, o)
		}
		if got.RowsDigest != want.RowsDigest {
			t.Errorf("%d shards: carried over %s, anew %s", n, got.RowsDigest, want.RowsDigest)
		}
		if c := computed(t, out, "prog"); c != fresh || fresh == 0 || fresh == scorable {
			t.Errorf("%d shards: the reward was computed for %v rows, not %v of %v", n, c, fresh, scorable)
		}
	}
	// Without --reward they are the earlier ones; without "missing" new rows have none.
	if got := again(t, "mem://previous/third", "mem://previous/score", "mem://previous/named", []string{"missing"}); got.RowsDigest != want.RowsDigest {
		t.Error("the earlier rewards, unnamed, give other rows")
	}
	every := 1.0
	o := options(t, "mem://previous/third", "mem://previous/failed", specs...)
	o.Only, o.From.URI, o.MaxFailureRate = []string{"failed"}, "mem://previous/score", &every
	if got := run(t, o); got.Counts["scored"] != want.Counts["scored"]-int64(fresh) {
		t.Errorf("--only failed scored %d of %d rows, %v of them new", got.Counts["scored"], want.Counts["scored"], fresh)
	}
}

// Scores of rollouts that are not those extended are refused, even when the
// trajectories have the same ids.
func TestScoresOfAnotherBaseAreRefused(t *testing.T) {
	all := trajectories()
	base(t, "mem://foreign/rollout", all[:8])
	extended(t, "mem://foreign/extended", "mem://foreign/rollout", all[:12])
	other := trajectories()[:8]
	other[0].Answer += "!"
	base(t, "mem://foreign/other", other)
	run(t, options(t, "mem://foreign/other", "mem://foreign/score", "a=expr:generation"))
	o := options(t, "mem://foreign/extended", "mem://foreign/out", "a=expr:generation")
	o.Only, o.From.URI = []string{"missing"}, "mem://foreign/score"
	if _, err := score.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "its rows are not those of") {
		t.Errorf("error %v", err)
	}
}
